import Foundation
import MartletMail
import MartletTesting

@testable import NotificationsService

/// The service with a mail server, and users invented by the test.
enum MailApp {
    static let ada = "0193a000-0000-7000-8000-0000000000aa"
    /// A user without a verified address.
    static let bob = "0193a000-0000-7000-8000-0000000000bb"

    static func options(ada address: String = "ada@example.org") async throws -> NotificationsOptions {
        var options = NotificationsOptions(internalSecret: NotificationsApp.internalSecret)
        if MailServer.isAvailable { options.mail.server = try await MailServer.shared.settings() }
        options.mail.publicURL = URL(string: "https://backend.example.org/martlet")!
        options.mail.contacts = MailContactClient { request in
            let users = [
                MailContacts.Contact(id: ada, email: address, language: "de-AT"),
                MailContacts.Contact(id: bob, email: nil, language: nil),
            ]
            return MailContacts(app: "Shöp", users: users.filter { request.users.contains($0.id) })
        }
        return options
    }

    static func run(_ options: NotificationsOptions? = nil, _ body: @Sendable (NotificationsApp) async throws -> Void)
        async throws
    {
        var own = try await Self.options()
        if let options { own = options }
        try await NotificationsApp.run(own, body)
    }

    static func address(_ name: String = "ada") -> String { "\(name)-\(UInt64.random(in: 0 ... .max))@example.org" }
}

extension NotificationsApp {
    /// Orders mail, waits until it has ended, and returns its record.
    func sent(_ body: String, headers: [String: String] = [:]) async throws -> Answer {
        let answer = try await master("POST", "/notifications/mail", body, headers: headers)
        guard answer.status == 202, let id = answer["data.0"] else { return answer }
        return try await ended(id)
    }

    /// - Parameter id: As in JSON.
    func ended(_ id: String) async throws -> Answer {
        let path = "/notifications/mail/" + id.filter { $0 != "\"" }
        return try await eventually("the mail has left the queue") {
            let record = try await master("GET", path)
            return record["state"] != "\"queued\"" ? record : nil
        }
    }
}
