import MartletPostgres

/// Events that follow one another.
struct FunnelQuestion: Sendable {
    static let stepCount = 2...10
    static let windowInSeconds = 60...(90 * 86_400)

    /// Names, each once.
    var steps: [String]
    /// From the first step to the last.
    var windowInSeconds: Int
}

extension QuestionStore {
    /// How many persons came as far as each step.
    ///
    /// Somebody reached a step who had the events of all steps up to it in this order, the last of them at most the window after the first; other
    /// events may lie between. Each event of a step is given the latest start of a way to it, which is the best one for all that follow. Events
    /// of the same instant follow one another as the steps do.
    func funnel(_ question: FunnelQuestion, in span: Span) async throws -> [Int] {
        var query: PostgresQuery =
            """
            SELECT \(Self.who) AS who, e.at, steps.step::int AS step, CASE WHEN steps.step = 1 THEN e.at END AS start
            FROM \(Self.source(withPeople: true)) JOIN (
                SELECT t.id, s.step FROM unnest(\(question.steps)) WITH ORDINALITY AS s (name, step)
                    JOIN analytics.terms AS t ON t.space = \(span.space.id) AND t.kind = 1 AND t.text = s.name) AS steps ON steps.id = e.name
            WHERE \(Self.within(span)) AND e.person <> 0
            """
        for step in question.steps.indices.dropFirst() {
            // Each level replaces the starts of one step by what the step before hands on.
            query = """
                SELECT who, at, step, CASE WHEN step = \(step + 1) AND at - latest <= make_interval(secs => \(Double(question.windowInSeconds))) THEN latest
                    WHEN step <= \(step) THEN start END AS start
                FROM (SELECT *, max(CASE WHEN step = \(step) THEN start END) OVER (PARTITION BY who ORDER BY at, step ROWS UNBOUNDED PRECEDING) AS latest
                    FROM (\(query)) AS way) AS ways
                """
        }
        let rows = try await raw("SELECT step, count(DISTINCT who) FROM (\(query)) AS reached WHERE start IS NOT NULL GROUP BY 1")
        var people = [Int](repeating: 0, count: question.steps.count)
        for row in rows { people[try row.decode(0, as: Int.self) - 1] = try row.decode(1) }
        return people
    }
}
