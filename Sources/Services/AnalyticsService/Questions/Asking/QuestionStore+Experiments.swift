import Foundation
import MartletAPI
import MartletPostgres

extension QuestionStore {
    /// Sums over the units of an experiment.
    ///
    /// A unit is a person with an event in the time that carries `experiment=variation` among its variants. What it did counts from the first such
    /// event on; a unit without the metric's event counts with 0. Units of two variations are counted apart.
    func sums(_ question: ExperimentQuestion, in space: Space) async throws -> ExperimentSums {
        var answer = ExperimentSums(
            units: Dictionary(question.variations.map { ($0, 0) }, uniquingKeysWith: { first, _ in first }), multipleExposures: 0, metrics: [:])
        let exposed = Self.exposed(question, in: space)
        let rows = try await raw("WITH \(exposed) SELECT CASE WHEN variations = 1 THEN variation END, count(*) FROM exposed GROUP BY 1")
        for row in rows {
            let count: Int = try row.decode(1)
            if let variation: String = try row.decode(0) { answer.units[variation] = count } else { answer.multipleExposures = count }
        }
        for metric in question.metrics {
            answer.metrics[metric.name] = try await sums(metric, question, exposed, in: space).merging(
                question.variations.map { ($0, Self.sums(metric, units: 0, [0, 0, 0, 0, 0])) }, uniquingKeysWith: { found, _ in found })
        }
        return answer
    }

    private func sums(
        _ metric: ExperimentQuestion.Metric, _ question: ExperimentQuestion, _ exposed: PostgresQuery, in space: Space
    ) async throws -> [String: ExperimentSums.Sums] {
        let amount: PostgresQuery = metric.property.map {
            """
            -- A number that is made up may be one that, or whose square, no float8 holds.
            CASE WHEN jsonb_typeof(e.properties -> \($0)) IS DISTINCT FROM 'number' THEN 0
                WHEN abs((e.properties ->> \($0))::numeric) BETWEEN 1e-100 AND 1e100 THEN (e.properties ->> \($0))::float8 ELSE 0 END
            """
        } ?? "1"
        let rows = try await raw(
            """
            WITH \(exposed),
            events AS (
                SELECT \(Self.who) AS who, e.at, e.name, \(amount) AS amount FROM \(Self.source(withPeople: true))
                WHERE \(Self.within(question, in: space)) AND e.name IN (\(Self.term(metric.event, in: space)), \(Self.term(metric.denominatorEvent, in: space)))),
            measured AS (
                SELECT u.variation,
                    coalesce(sum(amount) FILTER (WHERE name = \(Self.term(metric.event, in: space))), 0) AS amount,
                    count(*) FILTER (WHERE name = \(Self.term(metric.event, in: space))) AS times,
                    (count(*) FILTER (WHERE name = \(Self.term(metric.denominatorEvent, in: space))))::float8 AS other
                FROM exposed AS u LEFT JOIN events AS e ON e.who = u.who AND e.at >= u.first_at WHERE u.variations = 1 GROUP BY u.who, u.variation),
            valued AS (
                SELECT variation, CASE WHEN \(metric.kind == .proportion) THEN (times > 0)::int ELSE amount END::float8 AS x, other AS y FROM measured)
            SELECT variation, count(*), sum(x), sum(x * x), sum(y), sum(y * y), sum(x * y) FROM valued GROUP BY 1
            """)
        var sums: [String: ExperimentSums.Sums] = [:]
        for row in rows {
            sums[try row.decode(0)] = Self.sums(metric, units: try row.decode(1), try (2...6).map { try row.decode($0, as: Double.self) })
        }
        return sums
    }

    /// - Parameter sums: of x, x², y, y² and xy.
    private static func sums(_ metric: ExperimentQuestion.Metric, units: Int, _ sums: [Double]) -> ExperimentSums.Sums {
        var answer = ExperimentSums.Sums(units: units, sum: sums[0])
        if metric.kind != .proportion { answer.sumOfSquares = sums[1] }
        if metric.kind == .ratio {
            answer.denominator = ExperimentSums.Pair(sum: sums[2], sumOfSquares: sums[3])
            answer.sumOfProducts = sums[4]
        }
        return answer
    }

    /// Units, the variation each was given, and when first.
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

    private static func within(_ question: ExperimentQuestion, in space: Space) -> PostgresQuery {
        """
        e.space = \(space.id) AND e.at >= to_timestamp(\(Double(question.from))) AND e.at < to_timestamp(\(Double(question.to)))
            AND e.received >= to_timestamp(\(Double(question.from - 86_400)))
        """
    }
}
