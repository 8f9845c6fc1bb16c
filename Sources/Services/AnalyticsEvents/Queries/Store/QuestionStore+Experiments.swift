import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

extension QuestionStore {
    /// Time limit for all statements of one question together: a second less than the config service waits, so that no
    /// work continues after the config service has given up.
    private static let sumsTimeout: Duration = .seconds(24)

    /// Sums over the units of an experiment.
    ///
    /// A unit is a person with an event in the span that has `experiment=variation` among its variants. The unit's
    /// events count from the first such event on; a unit without the metric's event counts as 0. Units with several
    /// variations are counted separately. A covariate is the same sum over the days before the first such event.
    ///
    /// - Throws: `question-too-large`, `too-many-requests`.
    func sums(_ question: ExperimentQuestion, in space: Space) async throws -> ExperimentSums {
        var answer = ExperimentSums(
            units: Dictionary(question.variations.map { ($0, 0) }, uniquingKeysWith: { first, _ in first }),
            multipleExposures: 0, metrics: [:])
        let exposed = Self.exposed(question, in: space)
        let end = ContinuousClock.now + Self.sumsTimeout
        let rows = try await raw(
            "WITH \(exposed) SELECT CASE WHEN variations = 1 THEN variation END, count(*) FROM exposed GROUP BY 1",
            until: end)
        for row in rows {
            let count: Int = try row.decode(1)
            if let variation: String = try row.decode(0) {
                answer.units[variation] = count
            } else {
                answer.multipleExposures = count
            }
        }
        for metric in question.metrics {
            answer.metrics[metric.name] = try await sums(metric, question, exposed, in: space, until: end).merging(
                question.variations.map { ($0, Self.sums(metric, units: 0, [0, 0, 0, 0, 0])) },
                uniquingKeysWith: { found, _ in found })
        }
        return answer
    }

    private func sums(
        _ metric: ExperimentQuestion.Metric, _ question: ExperimentQuestion, _ exposed: PostgresQuery, in space: Space,
        until end: ContinuousClock.Instant
    ) async throws -> [String: ExperimentSums.Sums] {
        let (event, other) = (Self.term(metric.event, in: space), Self.term(metric.denominatorEvent, in: space))
        let before = (metric.covariateDays ?? 0) * 86_400
        let rows = try await raw(
            """
            WITH \(exposed),
            events AS (
                SELECT \(Self.who) AS who, e.at, e.name, \(Self.amount(metric)) AS amount FROM \(Self.source(withPeople: true))
                WHERE \(Self.within(question, before: before, in: space)) AND e.name IN (\(event), \(other))),
            measured AS (
                SELECT u.variation,
                    coalesce(sum(amount) FILTER (WHERE name = \(event) AND at >= first_at), 0) AS amount,
                    count(*) FILTER (WHERE name = \(event) AND at >= first_at) AS times,
                    count(*) FILTER (WHERE name = \(other) AND at >= first_at) AS others,
                    coalesce(sum(amount) FILTER (WHERE name = \(event) AND at < first_at), 0) AS amount_before,
                    count(*) FILTER (WHERE name = \(event) AND at < first_at) AS times_before
                FROM exposed AS u
                    LEFT JOIN events AS e ON e.who = u.who AND e.at >= u.first_at - make_interval(secs => \(Double(before)))
                WHERE u.variations = 1 GROUP BY u.who, u.variation),
            valued AS (
                SELECT variation, CASE WHEN \(metric.kind == .proportion) THEN (times > 0)::int ELSE amount END::float8 AS x,
                    CASE WHEN \(metric.kind == .ratio) THEN others WHEN \(metric.kind == .proportion) THEN (times_before > 0)::int
                        ELSE amount_before END::float8 AS y
                FROM measured)
            SELECT variation, count(*), sum(x), sum(x * x), sum(y), sum(y * y), sum(x * y) FROM valued GROUP BY 1
            """, until: end)
        var sums: [String: ExperimentSums.Sums] = [:]
        for row in rows {
            sums[try row.decode(0)] = Self.sums(
                metric, units: try row.decode(1), try (2...6).map { try row.decode($0, as: Double.self) })
        }
        return sums
    }

    private func raw(_ query: PostgresQuery, until end: ContinuousClock.Instant) async throws -> PostgresRows {
        let left = end - .now
        guard left > .zero else {
            throw ServiceError(
                .questionTooLarge, "The question was not answered in time. Ask for fewer metrics or fewer days.")
        }
        return try await raw(query, timeout: min(left, Self.rawTimeout))
    }

    /// The amount of an event. A property counts as 0 if it is not a number, is beyond 10¹², or is so small that its
    /// square vanishes.
    private static func amount(_ metric: ExperimentQuestion.Metric) -> PostgresQuery {
        guard let property = metric.property else { return "1" }
        return """
            CASE WHEN jsonb_typeof(e.properties -> \(property)) = 'number'
                THEN CASE WHEN abs((e.properties -> \(property))::numeric) BETWEEN 1e-100 AND 1e12 THEN (e.properties -> \(property))::float8 ELSE 0 END
                ELSE 0 END
            """
    }

    /// - Parameter sums: Of x, x², y, y² and xy, in this order.
    private static func sums(_ metric: ExperimentQuestion.Metric, units: Int, _ sums: [Double]) -> ExperimentSums.Sums {
        var answer = ExperimentSums.Sums(units: units, sum: sums[0])
        if metric.kind != .proportion { answer.sumOfSquares = sums[1] }
        let pair = ExperimentSums.Pair(sum: sums[2], sumOfSquares: sums[3])
        if metric.kind == .ratio {
            answer.denominator = pair
        } else if metric.covariateDays != nil {
            answer.covariate = pair
        }
        if metric.kind == .ratio || metric.covariateDays != nil { answer.sumOfProducts = sums[4] }
        return answer
    }

    /// CTEs that list the units with their variation and the time of their first exposure.
    private static func exposed(_ question: ExperimentQuestion, in space: Space) -> PostgresQuery {
        """
        carried AS (
            SELECT t.id, v.variation FROM analytics.terms AS t JOIN unnest(\(question.variations)) AS v (variation)
                ON \(question.experiment) || '=' || v.variation = ANY (string_to_array(t.text, ', '))
            WHERE t.space = \(space.id) AND t.kind = \(TermKind.variants.rawValue)),
        exposed AS MATERIALIZED (
            SELECT \(who) AS who, min(c.variation) AS variation, count(DISTINCT c.variation) AS variations, min(e.at) AS first_at
            FROM \(source(withPeople: true)) JOIN carried AS c ON c.id = e.variants
            WHERE \(within(question, in: space)) AND e.person <> 0 GROUP BY 1)
        """
    }

    /// - Parameter seconds: How far before the span events are included.
    private static func within(_ question: ExperimentQuestion, before seconds: Int = 0, in space: Space)
        -> PostgresQuery
    {
        """
        e.space = \(space.id) AND e.at >= to_timestamp(\(Double(question.from - seconds))) AND e.at < to_timestamp(\(Double(question.to)))
            AND e.received >= to_timestamp(\(Double(question.from - seconds - 86_400)))
        """
    }
}
