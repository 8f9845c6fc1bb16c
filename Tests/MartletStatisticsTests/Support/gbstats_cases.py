"""Random samples and what gbstats and scipy say of them, one JSON object a line: gbstats_cases.py SEED COUNT"""

import json
import random
import sys

from gbstats.bayesian.tests import EffectBayesianABTest, EffectBayesianConfig, GaussianPrior
from gbstats.frequentist.tests import FrequentistConfig, SequentialConfig, SequentialTwoSidedTTest, TwoSidedTTest
from gbstats.models.statistics import (
    ProportionStatistic, RatioStatistic, RegressionAdjustedStatistic, SampleMeanStatistic, compute_theta)
from gbstats.utils import check_srm
from scipy.special import stdtr
from scipy.stats import norm, t

seed, count = int(sys.argv[1]), int(sys.argv[2])
random.seed(seed)


def value(n):
    """The sums of one value over n units; proportions have no sum of squares."""
    if random.random() < 0.4:
        return ProportionStatistic(n=n, sum=random.randint(1, n - 1))
    mean = random.choice([-1, 1, 1, 1]) * 10 ** random.uniform(-3, 4)
    deviation = abs(mean) * 10 ** random.uniform(-1.5, 1)
    return SampleMeanStatistic(n=n, sum=n * mean, sum_squares=(n - 1) * deviation**2 + n * mean**2)


def like(other, n):
    """Sums of the same value over other units, the level a little different."""
    factor = random.uniform(0.9, 1.1)
    if isinstance(other, ProportionStatistic):
        return ProportionStatistic(n=n, sum=min(n - 1, max(1, round(n * other.mean * factor))))
    mean, variance = other.mean * factor, other.variance * random.uniform(0.8, 1.25)
    return SampleMeanStatistic(n=n, sum=n * mean, sum_squares=(n - 1) * variance + n * mean**2)


def products(a, b):
    correlation = random.uniform(-0.9, 0.95)
    return (a.n - 1) * correlation * (a.variance * b.variance) ** 0.5 + a.sum * b.sum / a.n


def sums(statistic):
    squares = None if isinstance(statistic, ProportionStatistic) else statistic.sum_squares
    return {"count": statistic.n, "sum": statistic.sum, "sumOfSquares": squares}


def pair(kind):
    """Two statistics of gbstats, and how to write them down."""
    n, m = (round(10 ** random.uniform(0.7, 6)) for _ in range(2))
    a = value(n)
    b = like(a, m)
    if kind == "single":
        return a, b, [{"first": sums(a)}, {"first": sums(b)}]
    c = value(n)
    if kind == "ratio":
        while c.mean <= 0:
            c = value(n)
    d = like(c, m)
    p, q = products(a, c), products(b, d)
    written = [{"first": sums(x), "second": sums(y), "sumOfProducts": z} for x, y, z in ((a, c, p), (b, d, q))]
    if kind == "ratio":
        return RatioStatistic(n, a, c, p), RatioStatistic(m, b, d, q), written
    return RegressionAdjustedStatistic(n, a, c, p, 0.0), RegressionAdjustedStatistic(m, b, d, q, 0.0), written


def effect_case():
    kind = random.choice(["single", "ratio", "adjusted"])
    a, b, samples = pair(kind)
    scale = random.choice(["relative", "absolute"])
    alpha = random.choice([0.01, 0.05, 0.1, 0.2])
    tuning = random.choice([500, 5000, 100000])
    prior = random.choice([None, [random.uniform(-0.1, 0.1), random.uniform(0.05, 1)]])
    fixed = TwoSidedTTest(a, b, FrequentistConfig(difference_type=scale, alpha=alpha))
    fixed_result = fixed.compute_result()
    if fixed_result.error_message:
        return None
    sequential = SequentialTwoSidedTTest(
        a, b, SequentialConfig(difference_type=scale, alpha=alpha, sequential_tuning_parameter=tuning)).compute_result()
    gaussian = GaussianPrior(prior[0], prior[1] ** 2, True) if prior else GaussianPrior()
    posterior = EffectBayesianABTest(
        a, b, EffectBayesianConfig(difference_type=scale, alpha=alpha, prior_effect=gaussian)).compute_result()
    return {
        "kind": kind, "samples": samples, "scale": scale, "alpha": alpha, "tuning": tuning, "prior": prior,
        "theta": compute_theta(a, b) if kind == "adjusted" else None,
        "effect": fixed_result.expected, "error": fixed_result.uplift.stddev, "interval": fixed_result.ci, "p": fixed_result.p_value,
        # gbstats computes 1 − cdf, which leaves no digits of a small p. This formula keeps them.
        "exactP": 2 * stdtr(fixed.dof, -abs(fixed.critical_value)),
        "sequentialInterval": sequential.ci, "sequentialP": sequential.p_value,
        "posterior": [posterior.uplift.mean, posterior.uplift.stddev], "credible": posterior.ci, "chance": posterior.chance_to_win,
        "risk": posterior.risk,
    }


def ratio_case():
    weights = [random.uniform(0.05, 1) for _ in range(random.randint(2, 8))]
    total = 10 ** random.uniform(1, 6)
    counts = [max(0, round(random.gauss(w / sum(weights) * total, (w / sum(weights) * total) ** 0.5))) for w in weights]
    return {"kind": "sampleRatio", "counts": counts, "weights": weights, "p": check_srm(counts, weights)}


def size_case():
    alpha, power, share = random.choice([0.01, 0.05, 0.1]), random.uniform(0.5, 0.99), random.uniform(0.05, 0.95)
    a, b, effect = random.uniform(0.01, 10), random.uniform(0.01, 10), 10 ** random.uniform(-3, 0)
    factor = norm.ppf(1 - alpha / 2) + norm.ppf(power)
    units = factor**2 * (a / (1 - share) + b / share) / effect**2
    return {"kind": "size", "alpha": alpha, "power": power, "share": share, "variances": [a, b], "effect": effect, "units": units}


def quantile_case():
    p, dof = random.choice([random.uniform(0, 1), 10 ** random.uniform(-12, 0)]), 10 ** random.uniform(0, 7)
    x = random.choice([-1, 1]) * 10 ** random.uniform(-3, 1.2)
    return {
        "kind": "distributions", "probability": p, "degreesOfFreedom": dof, "x": x, "normalQuantile": norm.ppf(p), "normalCDF": norm.cdf(x),
        "tQuantile": t.ppf(p, dof), "tCDF": stdtr(dof, x)}


for index in range(count):
    make = (effect_case, effect_case, effect_case, effect_case, ratio_case, size_case, quantile_case)[index % 7]
    case = None
    while case is None:
        case = make()
    print(json.dumps(case, default=float))
