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
    /// Somebody reached a step who had the events of all steps up to it in this order, the last of them at most the
    /// window after the first; other events may lie between. Each event of a step is given the latest start of a way to
    /// it, which is the best one for all that follow. Events of the same instant follow one another as the steps do.
    func funnel(_ question: FunnelQuestion, in span: Span) async throws -> [Int] {
        let names = try await numbers(of: question.steps, .name, in: span.space)
        // As numbers, so that PostgreSQL knows beforehand how many events there are.
        if let people = try await blockFunnel(names, question, in: span) { return people }
        return try await eventFunnel(names, question, in: span)
    }

    func eventFunnel(_ names: [Int], _ question: FunnelQuestion, in span: Span) async throws -> [Int] {
        var query: PostgresQuery =
            """
            SELECT \(Self.who) AS who, e.at, array_position(\(names)::integer[], e.name) AS step, CASE WHEN e.name = \(names[0]) THEN e.at END AS start
            FROM \(Self.source(withPeople: true)) WHERE \(Self.within(span)) AND e.person <> 0 AND e.name = ANY (\(names)::integer[])
            """
        for step in question.steps.indices.dropFirst() {
            // Each level replaces the starts of one step by what the step before hands on, and leaves out what no later
            // level needs: events of steps behind while nobody had come to this one, and of this one all but a person's
            // first, which tells that it was reached.
            query = """
                SELECT who, at, step, CASE WHEN step <= \(step) THEN start
                    WHEN step = \(step + 1) AND at - latest <= make_interval(secs => \(Double(question.windowInSeconds))) THEN latest END AS start
                FROM (
                    SELECT *, max(CASE WHEN step = \(step) THEN start END) OVER following AS latest,
                        count(CASE WHEN step = \(step) THEN start END) OVER following AS place
                    FROM (\(query)) AS way WINDOW following AS (PARTITION BY who ORDER BY at, step ROWS UNBOUNDED PRECEDING)) AS ways
                WHERE CASE WHEN step > \(step) THEN latest IS NOT NULL WHEN step = \(step) THEN start IS NOT NULL AND place = 1 ELSE TRUE END
                """
        }
        // Whoever reached a step reached those before it.
        let rows = try await raw(
            "SELECT last, count(*) FROM (SELECT who, max(step) AS last FROM (\(query)) AS reached WHERE start IS NOT NULL GROUP BY who) AS ends GROUP BY 1"
        )
        var people = [Int](repeating: 0, count: question.steps.count)
        for row in rows {
            let count: Int = try row.decode(1)
            for step in 0..<(try row.decode(0, as: Int.self)) { people[step] += count }
        }
        return people
    }
}
