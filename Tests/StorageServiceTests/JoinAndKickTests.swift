import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import StorageService

/// Users who join, leave and are removed at the same moment: the accepted writes have one order, and nothing is lost.
@Suite struct JoinAndKickTests {
    /// Anyone signed in joins and leaves an open event, for themselves only; the creator changes the rest.
    private static let rules = #"""
        {"rules":{"update":[
        {"who":["authenticated"],"where":{"state":"open"},
         "operations":{"participants":{"AddUnique":["$user.id"],"Remove":["$user.id"]}}},
        {"where":{"creator":"$user.id"},"fields":["participants","state","title"]}]}}
        """#
    private static let participants = ["ann", "u1", "u2", "u3"]

    private enum Act: Sendable {
        case join(String)
        case leave(String)
        /// The creator removes this user.
        case kick(String)
        case close
        case rename

        var user: String {
            switch self {
            case .join(let user), .leave(let user): user
            case .kick, .close, .rename: "ann"
            }
        }

        var body: String {
            switch self {
            case .join(let user): Self.operation("AddUnique", user)
            case .leave(let user), .kick(let user): Self.operation("Remove", user)
            case .close: #"{"state":"shut"}"#
            case .rename: #"{"title":"Chess"}"#
            }
        }

        static func operation(_ name: String, _ user: String) -> String {
            #"{"participants":{"__op":"\#(name)","objects":["\#(user)"]}}"#
        }

        /// The list of participants after the act.
        func applied(to list: [String]) -> [String] {
            switch self {
            case .join(let user): list.contains(user) ? list : list + [user]
            case .leave(let user), .kick(let user): list.filter { $0 != user }
            case .close, .rename: list
            }
        }
    }

    private static func app() async throws -> StorageApp {
        let app = try await StorageApp()
        #expect(try await app.master.post("/storage/Events", #"{"_id":"first","title":"x"}"#).status == 201)
        try await app.set(rules, on: "Events")
        return app
    }

    /// Lets all acts happen at the same moment on a new event, and returns the answers.
    private static func outcomes(
        of acts: [Act], on event: String, in app: StorageApp
    ) async throws -> [(act: Act, answer: Answer)] {
        let people = participants.map { #""\#($0)""# }.joined(separator: ",")
        let body = #"{"_id":"\#(event)","creator":"ann","state":"open","participants":[\#(people)]}"#
        #expect(try await app.master.post("/storage/Events", body).status == 201)
        return try await withThrowingTaskGroup(of: (Act, Answer).self) { tasks in
            for act in acts.shuffled() {
                let client = app.user(act.user)
                tasks.addTask { (act, try await client.patch("/storage/Events/\(event)", act.body)) }
            }
            var outcomes: [(act: Act, answer: Answer)] = []
            for try await (act, answer) in tasks { outcomes.append((act, answer)) }
            return outcomes
        }
    }

    private static func version(_ answer: Answer) -> Int { answer["_version"].flatMap { Int($0) } ?? 0 }

    private static func text(_ list: [String]) -> String { "[\(list.map { #""\#($0)""# }.joined(separator: ","))]" }

    /// Checks that the accepted acts follow each other, each on the list that the one before has left; returns them in
    /// order.
    private static func order(
        _ outcomes: [(act: Act, answer: Answer)], of event: String, in app: StorageApp
    ) async throws -> [Act] {
        let accepted = outcomes.filter { $0.answer.status == 200 }.sorted { version($0.answer) < version($1.answer) }
        var list = participants
        for (place, (act, answer)) in accepted.enumerated() {
            list = act.applied(to: list)
            #expect(version(answer) == place + 2, "\(act): \(answer)")
            #expect(answer["participants"] == text(list), "\(act): \(answer)")
        }
        let stored = try await app.master.get("/storage/Events/\(event)")
        #expect(version(stored) == accepted.count + 1 && stored["participants"] == text(list), "\(stored)")
        return accepted.map(\.act)
    }

    @Test func `the list is the result of the writes in some order, and no write is lost`() async throws {
        let app = try await Self.app()
        let acts: [Act] = [
            .leave("u1"), .kick("u1"), .join("u1"), .leave("u2"), .join("u2"), .kick("u3"), .join("u4"), .kick("u4"),
            .join("u5"), .join("u6"), .leave("u6"), .rename,
        ]
        try await withThrowingTaskGroup(of: Void.self) { rounds in
            for round in 0..<20 {
                rounds.addTask {
                    let outcomes = try await Self.outcomes(of: acts, on: "e\(round)", in: app)
                    let order = try await Self.order(outcomes, of: "e\(round)", in: app)
                    #expect(order.count == acts.count, "each act is allowed, whatever came before it")
                }
            }
            try await rounds.waitForAll()
        }
    }

    @Test func `nobody joins an event after its creator has closed it`() async throws {
        let app = try await Self.app()
        let acts: [Act] = (10..<20).map { .join("u\($0)") } + [.leave("u1"), .close]
        for round in 0..<15 {
            let outcomes = try await Self.outcomes(of: acts, on: "e\(round)", in: app)
            for (act, answer) in outcomes where answer.status != 200 {
                #expect(answer.isProblem(.forbidden), "\(act): \(answer)")
            }
            let last = try await Self.order(outcomes, of: "e\(round)", in: app).last
            guard case .close = last else {
                Issue.record("After the event was closed: \(String(describing: last))")
                continue
            }
        }
    }

    @Test func `users who may join may not remove others, even while others write`() async throws {
        let app = try await Self.app()
        let outcomes = try await Self.outcomes(of: [.join("u8"), .join("u9"), .rename], on: "e", in: app)
        #expect(try await Self.order(outcomes, of: "e", in: app).count == 3)
        try await withThrowingTaskGroup(of: Answer.self) { tasks in
            for number in 0..<20 {
                let body = Act.operation(number % 2 == 0 ? "Remove" : "AddUnique", number % 4 < 2 ? "u1" : "u7")
                let client = number % 5 == 0 ? app.client : app.user("u8")
                tasks.addTask { try await client.patch("/storage/Events/e", body) }
            }
            for try await answer in tasks { #expect(answer.isProblem(.forbidden), "\(answer)") }
        }
        #expect(Self.version(try await app.master.get("/storage/Events/e")) == 4)
    }

    /// Neither order of the two writes refuses the second one.
    @Test func `an update that waited for another one is checked against the result of that one`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.post("/storage/Events", #"{"_id":"e","creator":"ann","n":1}"#).status == 201)
        try await app.set(
            #"{"rules":{"update":[{"who":["authenticated"],"where":{"$new.creator":"$old.creator"}}]}}"#, on: "Events")
        let scope = QueryScope(space: try app.space(), collection: try CollectionName("Events"), rights: .master)
        let eve = app.user("eve")
        let waiting = try await app.postgres.withTransaction(role: scope.space.role) { transaction in
            let change = try Document(ByteBuffer(string: #"{"creator":"bob","n":2}"#))
            _ = try await app.objects.within(transaction).change(try ObjectID("e"), by: change, if: nil, in: scope)
            let waiting = Task {
                try await eve.patch("/storage/Events/e", #"{"n":{"__op":"Increment","amount":1}}"#)
            }
            try await app.waitUntilStatementsWait()
            return waiting
        }
        let answer = try await waiting.value
        #expect(answer["creator"] == #""bob""# && answer["n"] == "3" && answer["_version"] == "3", "\(answer)")
    }
}
