import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import NotificationsService

struct MessageUserDataTests {
    @Test func `an erased user's messages are deleted, and no other message names the user`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([
                TestInstallation(1, user: "00000000-0000-4000-8000-000000000001"),
                TestInstallation(2, user: "00000000-0000-4000-8000-000000000002"), TestInstallation(3),
            ])
            let alone = try await app.order(
                #"{"content":{"body":"for you"},"audience":{"users":["00000000-0000-4000-8000-000000000001"]}}"#)
            let both = try await app.order(
                #"{"content":{"body":"for two"},"audience":{"users":["00000000-0000-4000-8000-000000000001","00000000-0000-4000-8000-000000000002"]}}"#
            )
            let others = try await app.order(
                #"{"content":{"body":"for all"},"audience":{"everyone":true,"except":{"users":["00000000-0000-4000-8000-000000000001"]}}}"#
            )
            _ = try await app.master(
                "PUT", "/notifications/segments/s", #"{"audience":{"users":["00000000-0000-4000-8000-000000000001"]}}"#)
            let sent = MessageOrder(
                content: MessageContent(MessageTexts(body: "from me")),
                audience: .users(
                    ["00000000-0000-4000-8000-000000000002"], except: ["00000000-0000-4000-8000-000000000003"]),
                author: .init(text: "user:00000000-0000-4000-8000-000000000001"))
            let space = try await app.space
            let own = try await app.postgres.withTransaction {
                try await app.service.messages.store.create(sent, in: space, $0)
            }
            let holder = app.service.messages.userData
            let request = UserDataRequest(app: "app1", environment: .live, user: "00000000-0000-4000-8000-000000000001")

            let portion = try await holder.export(request)
            let text = String(buffer: portion.lines)
            #expect(
                portion.next == nil && text.split(separator: "\n").count == 3 && text.contains("from me")
                    && text.contains("for two"))
            // A user who blocks the sender is omitted, so neither learns of the other from an export.
            #expect(!text.contains("for all") && !text.contains("except"), "\(text)")
            let blocker = UserDataRequest(app: "app1", environment: .live, user: "00000000-0000-4000-8000-000000000003")
            #expect(try await holder.export(blocker).lines.readableBytes == 0)
            #expect(
                text.components(separatedBy: "00000000-0000-4000-8000-000000000002").count == 2,
                "another user's id appears only where the user wrote it: \(text)")

            let erasure = try await holder.erase(request)
            #expect(erasure == UserErasure(erased: ["messages": 2, "mentions": 2, "segments": 1]))
            for id in [alone, own.id] { #expect(try await app.service.messages.store.find(id, in: space.id) == nil) }
            #expect(try await app.message(both).audience.users == ["00000000-0000-4000-8000-000000000002"])
            let everyone = try await app.planned(others)
            #expect(everyone.audience.isEveryone && everyone.audience.exceptUsers.isEmpty)
            let everything = try await app.postgres.query(
                """
                SELECT count(*) FROM notifications.messages AS m WHERE m::text LIKE '%00000000-0000-4000-8000-000000000001%'
                UNION ALL SELECT count(*) FROM notifications.segments AS s WHERE s::text LIKE '%00000000-0000-4000-8000-000000000001%'
                """)
            #expect(try everything.map { try $0.decode(0, as: Int.self) } == [0, 0])
            #expect(try await holder.erase(request) == UserErasure())
            #expect(try await app.master("GET", "/notifications/segments/s/preview")["count"] == "0")
        }
    }
}
