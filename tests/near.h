/* Doubles compared as doubles: cmocka's assert_float_equal rounds to float first. */
#ifndef TESTS_ROOFLINE_NEAR_H
#define TESTS_ROOFLINE_NEAR_H
#include <math.h>
#define assert_near(a, b, tolerance)                                                       \
    do {                                                                                   \
        const double near_a = (a), near_b = (b), near_t = (tolerance);                     \
        if (!(fabs(near_a - near_b) <= near_t))                                            \
            fail_msg("%s = %.17g, expected %s = %.17g", #a, near_a, #b, near_b);           \
    } while (0)
#endif
