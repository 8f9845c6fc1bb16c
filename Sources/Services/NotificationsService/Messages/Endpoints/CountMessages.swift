import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct CountMessages: Endpoint {
    static let route = Route(
        .get, "/notifications/messages/counts", "countMessages",
        "Counts the app's messages and their deliveries by day or month (UTC).",
        callers: .manager(.read, .notifications),
        parameters: [
            .query("interval", .oneOf(MessageStore.Interval.allCases.map(\.rawValue)).defaulting(to: "day")),
            .query(
                "steps", .integer.minimum(1),
                "The number of steps; by default 30 days or 12 months, at most 366 days or 36 months."),
        ],
        details: """
            The last step is the current day or month. A message and its deliveries count when the message was \
            created. Messages that were deleted because of their age (`push.messages.days`) no longer count.
            """,
        answers: [
            .answer(
                200, "The steps, oldest first.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "from": .time,
                                        "messages": .integer,
                                        "accepted": .integer,
                                        "failed": .integer,
                                        "unknown": .integer,
                                        "opened": .integer,
                                    ])),
                        ])))
        ])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        let interval: MessageStore.Interval = try request.choice("interval") ?? .day
        let steps = try request.number("steps", default: interval.defaultSteps, in: 1...interval.maximumSteps)
        return .page(try await messages.store.counts(interval, steps: steps, in: space))
    }
}

extension MessageStore.Interval {
    fileprivate var defaultSteps: Int {
        switch self {
        case .day: 30
        case .month: 12
        }
    }

    fileprivate var maximumSteps: Int {
        switch self {
        case .day: 366
        case .month: 36
        }
    }
}
