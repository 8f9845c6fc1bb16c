import MartletPostgres

/// Asks how many persons had several events in order.
struct FunnelQuestion: Sendable {
    static let stepCount = 2...10
    static let windowInSeconds = 60...(90 * 86_400)

    /// Names of events, each at most once.
    var steps: [String]
    /// Maximum time between the first step and the last.
    var windowInSeconds: Int
}

extension QuestionStore {
    /// Counts how many persons reached each step.
    ///
    /// A person reached a step with events of all steps up to it, in this order, where the last is at most the window
    /// after the first. Other events may lie between. For each event of a step, the latest start of a path to it is
    /// kept, which is the best one for all later steps. Events at the same instant follow each other in the order of
    /// the steps.
    func funnel(_ question: FunnelQuestion, in span: Span) async throws -> [Int] {
        // As term numbers, so that PostgreSQL can estimate the number of events.
        let names = try await numbers(of: question.steps, .name, in: span.space)
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
            // Each level of the query replaces the starts of one step with those carried over from the step before. It
            // drops what later levels do not need: events of later steps before the person came to this one, and all of
            // this step's events but the first, which shows that the step was reached.
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
        // A person who reached a step also reached all before it.
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
