// The functions that formulas may call, as in math/f32.in.rs; shader source names them with the prefix fm_, so that
// none is taken for a built-in. A blank line ends a function: glsl.rs hands out those a formula needs.
// Built-ins are avoided where Vulkan promises too little: exp and log are good to 3 + 2 |x| ulp and 2^-21, sin and cos to
// 2^-11, tanh(100) may be NaN, round(0.5) may be 0, min and max may drop a NaN. `precise` keeps range reductions as written.

float fm_select(bool condition, float a, float b) {
    return condition ? a : b;
}

float fm_abs(float x) {
    return abs(x);
}

float fm_sign(float x) {
    return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x);
}

float fm_step(float x) {
    return x > 0.0 ? 1.0 : (x <= 0.0 ? 0.0 : x);
}

float fm_min(float a, float b) {
    return a < b || isnan(a) ? a : b;
}

float fm_max(float a, float b) {
    return a > b || isnan(a) ? a : b;
}

float fm_clamp(float x, float low, float high) {
    return x < low ? low : (x > high ? high : x);
}

float fm_floor(float x) {
    return floor(x);
}

float fm_ceil(float x) {
    return ceil(x);
}

float fm_trunc(float x) {
    return trunc(x);
}

// Halves away from zero.
float fm_round(float x) {
    float t = trunc(x);
    return abs(x - t) >= 0.5 ? t + fm_sign(x) : t;
}

float fm_sqrt(float x) {
    return sqrt(x);
}

// 2^n for -126 <= n <= 127.
float fm_pow2(int n) {
    return intBitsToFloat((n + 127) << 23);
}

float fm_copysign(float magnitude, float x) {
    return uintBitsToFloat((floatBitsToUint(magnitude) & 0x7fffffffu) | (floatBitsToUint(x) & 0x80000000u));
}

// exp(x) 2^-n - 1, where n is the integer nearest to x / ln 2.
float fm_exp_fraction(float x, float n) {
    precise float r = x - n * 0.693359375;
    r = r + n * 2.1219444e-4;
    float q = 1.9914876e-4 * r + 1.394152e-3;
    q = q * r + 8.333272e-3;
    q = q * r + 4.1666348e-2;
    q = q * r + 1.6666667e-1;
    q = q * r + 0.5;
    return (q * r) * r + r;
}

float fm_exp(float x) {
    x = fm_clamp(x, -105.0, 89.0);
    float n = roundEven(x * 1.44269504);
    precise float y = fm_exp_fraction(x, n) + 1.0;
    int k = int(n);
    int half_k = k >> 1;
    y = (y * fm_pow2(half_k)) * fm_pow2(k - half_k);
    return isnan(x) ? x : y;
}

float fm_expm1(float x) {
    float c = fm_clamp(x, -30.0, 89.0);
    float n = roundEven(c * 1.44269504);
    float s = fm_pow2(int(n) - 1);
    precise float y = s * fm_exp_fraction(c, n) + (s - 0.5);
    return isnan(x) || abs(x) < 1e-10 ? x : 2.0 * y;
}

float fm_log(float x) {
    bool tiny = x < 1.17549435e-38;
    uint bits = floatBitsToUint(tiny ? x * 8388608.0 : x) - 0x3f3504f3u;
    float e = float(int(bits) >> 23) + (tiny ? -23.0 : 0.0);
    precise float f = uintBitsToFloat((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0;
    float q = -7.85953e-2 * f + 1.2881595e-1;
    q = q * f - 1.312876e-1;
    q = q * f + 1.41812e-1;
    q = q * f - 1.6624555e-1;
    q = q * f + 2.0002286e-1;
    q = q * f - 2.500081e-1;
    q = q * f + 3.3333316e-1;
    precise float f2 = f * f;
    precise float low = q * f2 * f - 0.5 * f2;
    low = low - e * 2.1219444e-4;
    precise float y = (f + low) + e * 0.693359375;
    y = isinf(x) ? x : y;
    return x > 0.0 ? y : (x == 0.0 ? uintBitsToFloat(0xff800000u) : uintBitsToFloat(0x7fc00000u));
}

float fm_log1p(float x) {
    precise float u = 1.0 + x;
    precise float lost = (x - (u - 1.0)) / u;
    return fm_log(u) + (isnan(lost) ? 0.0 : lost);
}

float fm_sigmoid(float x) {
    float z = fm_exp(-abs(x));
    return (x < 0.0 ? z : 1.0) / (1.0 + z);
}

float fm_tanh(float x) {
    float e = fm_expm1(2.0 * fm_min(abs(x), 10.0));
    return fm_copysign(e / (e + 2.0), x);
}

float fm_erf(float x) {
    float a = fm_min(abs(x), 4.0);
    float a2 = a * a;
    float p = 8.5131083e-5 * a2 - 8.1756406e-4;
    p = p * a2 + 5.2038594e-3;
    p = p * a2 - 2.6860509e-2;
    p = p * a2 + 1.1283715e-1;
    p = p * a2 - 3.7612635e-1;
    p = p * a2 + 0.12837917;
    float near = a * p + a;
    float q = -1.9821271e-4 * a + 3.065475e-3;
    q = q * a - 2.2315167e-2;
    q = q * a + 1.0411361e-1;
    q = q * a + 6.3697612e-1;
    q = q * a + 1.1277972;
    float far = 1.0 - fm_exp(-(q * a + 1.6645124e-4));
    return fm_copysign(a < 0.9 ? near : far, x);
}

// sin of x plus `turn` quarter turns. The number of quarter turns is cut into two parts of at most ten bits and pi/2 into
// three parts, so that products are exact up to |x| = 1e6.
float fm_sin_turned(float x, int turn) {
    float n = roundEven(x * 0.63661977);
    precise float high = trunc(n * 0.0009765625) * 1024.0;
    precise float low = n - high;
    precise float r = x - high * 1.5703125;
    r = r - low * 1.5703125;
    r = r - high * 4.837512969970703e-4;
    r = r - low * 4.837512969970703e-4;
    r = r - n * 7.5497900e-8;
    // Arguments too large to be reduced still give a value in [-1, 1].
    r = fm_clamp(r, -1.0, 1.0);
    float r2 = r * r;
    float s = -1.9516009e-4 * r2 + 8.3321687e-3;
    s = s * r2 - 1.6666655e-1;
    s = (s * r2) * r + r;
    float c = 2.4437004e-5 * r2 - 1.3887355e-3;
    c = c * r2 + 4.1666646e-2;
    c = (c * r2) * r2 + (1.0 - 0.5 * r2);
    int k = int(fm_clamp(n, -1e9, 1e9)) + turn;
    float y = (k & 1) == 0 ? s : c;
    return isnan(x) || isinf(x) ? uintBitsToFloat(0x7fc00000u) : ((k & 2) == 0 ? y : -y);
}

float fm_sin(float x) {
    return fm_sin_turned(x, 0);
}

float fm_cos(float x) {
    return fm_sin_turned(x, 1);
}
