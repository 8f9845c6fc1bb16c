import Foundation
import Glibc
import MartletAPI
import MartletHTTP
import MartletMail
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

/// Mail that must wait does not delay other mail.
@Suite(.enabled(if: MailServer.isAvailable)) struct MailSchedulingTests {
    /// A server that accepts connections and never answers.
    private final class SilentServer: Sendable {
        let port: Int
        private let socket: Int32

        init() throws {
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            self.socket = socket
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, length) + listen(socket, 64) + getsockname(socket, $0, &length)
                }
            }
            try #require(result == 0)
            port = Int(UInt16(bigEndian: address.sin_port))
        }

        deinit { close(socket) }
    }

    @Test func `An unresponsive server delays only the mail of its own apps`() async throws {
        try await MailApp.run { app in
            let silent = try SilentServer()
            // More apps than slots for one server, each with more than one mail.
            for number in 0..<MailServerLoad.slotsPerServer + 4 {
                var dead = app
                dead.appID = "dead\(number)"
                try await dead.putSMTP(
                    #"{"address":"hello@shop.example","host":"127.0.0.1","port":\#(silent.port),"tls":"off"}"#)
                let order = try await dead.master(
                    "POST", "/notifications/mail",
                    #"{"to":["a@example.org","b@example.org"],"subject":"Hi","text":"Hello"}"#)
                #expect(order.status == 202, "\(order)")
            }
            // The maximum number is being sent.
            try await eventually("all slots of the silent server are in use") {
                try await attempts(app) >= MailServerLoad.slotsPerServer
            }
            for name in ["good1", "good2"] {
                var good = app
                good.appID = name
                #expect(
                    try await good.sent(#"{"to":["\#(MailApp.address())"],"subject":"Hi","text":"Hello"}"#)["state"]
                        == "\"sent\"")
            }
            // The mails to the silent server have not ended.
            let ended: Int = try await app.postgres.query(
                "SELECT count(*) FROM notifications.mails WHERE address IN ('a@example.org', 'b@example.org') AND reason IS NOT NULL"
            )[0].decode(0)
            #expect(ended == 0)
            withExtendedLifetime(silent) {}
        }
    }

    private func attempts(_ app: NotificationsApp) async throws -> Int {
        try await app.postgres.query(
            "SELECT count(*) FROM notifications.mails WHERE address IN ('a@example.org', 'b@example.org') AND attempts > 0"
        )[0].decode(0)
    }

    @Test func `Fifty thousand mails of one app do not delay others, and are one job`() async throws {
        var options = try await MailApp.options()
        options.mail.mailsPerHour = 100_000
        options.mail.mailsPerDay = 100_000
        try await MailApp.run(options) { app in
            #expect(
                try await app.sent(#"{"to":["\#(MailApp.address())"],"subject":"Hi","text":"Hello"}"#)["state"]
                    == "\"sent\"")
            // Mails with unreadable content fail one by one, which takes a while and sends nothing.
            try await app.postgres.execute(
                """
                INSERT INTO notifications.mails (id, space, author, address, content)
                SELECT gen_random_uuid(), \(try await app.space.id), 'service', 'many@example.org', 'x' FROM generate_series(1, 50000)
                """)
            var other = app
            other.appID = "other"
            #expect(
                try await other.sent(#"{"to":["\#(MailApp.address())"],"subject":"Hi","text":"Hello"}"#)["state"]
                    == "\"sent\"")
            let left: Int = try await app.postgres.query(
                "SELECT count(*) FROM notifications.mails WHERE state = 'queued'")[0].decode(0)
            let jobs: Int = try await app.postgres.query(
                "SELECT count(*) FROM notifications.jobs WHERE finished IS NULL")[0].decode(0)
            #expect(left > 10_000 && jobs <= 2, "\(left) \(jobs)")
        }
    }

    @Test func `Due mail without a job gets a new one`() async throws {
        try await MailApp.run { app in
            let address = MailApp.address()
            let order = try await app.master(
                "POST", "/notifications/mail", #"{"to":["\#(address)"],"subject":"Hi","text":"Hello"}"#)
            let id = try #require(order["data.0"]).filter { $0 != "\"" }
            #expect(try await app.ended(id)["state"] == "\"sent\"")
            try await app.postgres.execute(
                """
                INSERT INTO notifications.mails (id, space, author, address, content) SELECT gen_random_uuid(), space, author, address, 'x'
                FROM notifications.mails
                """)
            try await eventually("no mail is queued") {
                try await app.postgres.query("SELECT FROM notifications.mails WHERE state = 'queued'").isEmpty
            }
            let reasons: [String] = try await app.postgres.query(
                "SELECT reason FROM notifications.mails WHERE reason IS NOT NULL"
            ).map { try $0.decode(0) }
            #expect(reasons == ["sealed under another internal secret"])
        }
    }
}
