import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// The notices of ended sessions to the notifications service.
@Suite struct SignOutOfPushTests {
    private struct Two: Sendable {
        let client: UserClient
        let notifications: OtherService
        /// Both of the same user.
        let first, second: Tokens

        static func run(_ body: @Sendable (Two) async throws -> Void) async throws {
            let notifications = try await OtherService.start("notifications")
            try await UserClient.run(services: { _ in [notifications.address] }) { client in
                _ = try await client.signUp("berta")
                let first = try await client.signUp(more: #","email":"anna@example.org""#)
                try await body(
                    Two(
                        client: client, notifications: notifications, first: first,
                        second: try Tokens(try await client.logIn())))
            }
        }

        /// Waits for the next notice.
        func receivedSignOut(after count: Int = 0) async throws -> OtherService.SignOut {
            try await eventually("the sign-out is reported") { notifications.signOuts.count > count }
            return notifications.signOuts[count]
        }

        func ended(_ sessions: Tokens...) -> OtherService.SignOut {
            OtherService.SignOut(
                app: client.app.id, environment: .live, user: first.userID, sessions: Set(sessions.map(\.sessionID)))
        }

        func unfinished() async throws -> Int {
            try await client.count(
                "SELECT count(*) FROM auth.jobs WHERE kind = \(SignOutOfPush.kind) AND finished IS NULL")
        }
    }

    enum Action: CaseIterable {
        case logOut, endOne, endOthers, endAll, changePassword, theft
        case password, disabling, deletion, handOver

        var endsBoth: Bool { [.endAll, .password, .disabling, .deletion, .handOver].contains(self) }
    }

    @Test(arguments: Action.allCases)
    func `The notifications service is notified of the session that ended, however it ended`(
        _ action: Action
    ) async throws {
        try await Two.run { two in
            let (client, first, second) = (two.client, two.first, two.second)
            let status: Int
            switch action {
            case .logOut: status = try await client.send("POST", "logout", as: second).status
            case .endOne: status = try await client.send("DELETE", "sessions/\(second.sessionID)", as: first).status
            case .endOthers: status = try await client.send("DELETE", "sessions?keep=current", as: first).status
            case .endAll: status = try await client.send("DELETE", "sessions", as: first).status
            case .changePassword:
                status = try await client.send(
                    "PUT", "me/password", #"{"password":"correct horse","newPassword":"battery staple"}"#, as: first
                ).status
            case .theft:
                let next = try Tokens(try await client.refresh(second.refresh))
                _ = try await client.refresh(next.refresh)
                status = try await client.refresh(second.refresh).isProblem(.invalidToken) ? 200 : 0
            case .password:
                status = try await client.master("PATCH", "users/\(first.userID)", #"{"password":"battery staple"}"#)
                    .status
            case .disabling:
                status = try await client.master("PATCH", "users/\(first.userID)", #"{"disabled":true}"#).status
            case .deletion: status = try await client.master("DELETE", "users/\(first.userID)").status
            case .handOver:
                let (id, space) = (
                    try #require(UUID(uuidString: first.userID)), AppSpace(appID: client.app.id, environment: .live)
                )
                let isDone = try await client.auth.postgres.withTransaction {
                    try await UserStore.handOver(id, toOwnerOf: "anna@example.org", in: space, $0)
                }
                status = isDone ? 200 : 0
            }
            #expect((200...204).contains(status))
            if action == .deletion {
                // Its devices are erased as a whole, which requires that they still belong to the user.
                try await eventually("all jobs are finished") {
                    try await two.unfinished() == 0 && !two.notifications.calls.isEmpty
                }
                #expect(two.notifications.signOuts.isEmpty && two.notifications.calls[0].user == first.userID)
                return
            }
            #expect(try await two.receivedSignOut() == (action.endsBoth ? two.ended(first, second) : two.ended(second)))
            #expect(two.notifications.signOuts.count == 1)
        }
    }

    @Test func `An unavailable service does not delay a sign-out, and is notified later`() async throws {
        try await Two.run { two in
            two.notifications.fail(2)
            let ended = try await two.client.send("DELETE", "sessions?keep=current", as: two.first)
            #expect(ended.status == 200 && ended["count"] == "1", "\(ended)")
            #expect(try await two.client.send("GET", "sessions", as: two.first)["count"] == "1")
            #expect(try await two.receivedSignOut() == two.ended(two.second))
            #expect(try await two.receivedSignOut(after: 2) == two.ended(two.second))
            #expect(two.notifications.failuresLeft < 0)
        }
    }

    @Test func `Notifications gets a second notice once no access token can be valid, unless none was valid before`()
        async throws
    {
        try await Two.run { two in
            try await two.client.auth.postgres.execute(
                "UPDATE auth.sessions SET rotated = now() - interval '17 minutes' WHERE id = \(UUID(uuidString: two.first.sessionID))"
            )
            #expect(
                try await two.client.send("DELETE", "sessions/\(two.first.sessionID)", as: two.second).status == 204)
            #expect(try await two.receivedSignOut() == two.ended(two.first))
            try await eventually("all jobs are finished") { try await two.unfinished() == 0 }

            #expect(try await two.client.send("POST", "logout", as: two.second).status == 204)
            #expect(try await two.receivedSignOut(after: 1) == two.ended(two.second))
            let waiting: PostgresQuery = """
                SELECT coalesce(sum(extract(epoch FROM due - now())), 0)::bigint FROM auth.jobs WHERE kind = \(SignOutOfPush.kind) AND state = 'waiting'
                """
            try await eventually("a job waits") { try await two.client.count(waiting) > 0 }
            let seconds = try await two.client.count(waiting)
            #expect((1_100...1_200).contains(seconds))
            try await two.client.auth.postgres.execute(
                "UPDATE auth.jobs SET due = now() WHERE kind = \(SignOutOfPush.kind) AND state = 'waiting'")
            #expect(try await two.receivedSignOut(after: 2) == two.ended(two.second))
            try await eventually("all jobs are finished") { try await two.unfinished() == 0 }
            #expect(two.notifications.signOuts.count == 3)
        }
    }

    @Test func `Notifications gets a notice when an expired session is deleted, but not for a refreshed session`()
        async throws
    {
        try await Two.run { two in
            _ = try await two.client.refresh(two.second.refresh)
            try await two.client.auth.postgres.execute(
                "UPDATE auth.sessions SET expires = now() - interval '8 days', rotated = now() - interval '68 days' WHERE id = \(UUID(uuidString: two.first.sessionID))"
            )
            try await SessionStore(postgres: two.client.auth.postgres).clean()
            #expect(try await two.receivedSignOut() == two.ended(two.first))
            #expect(two.notifications.signOuts.count == 1)
        }
    }
}
