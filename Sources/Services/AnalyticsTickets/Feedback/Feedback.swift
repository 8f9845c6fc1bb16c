import Foundation
import MartletAPI
package import NIOCore

/// A message from an end user about the app.
package struct Feedback: Sendable {
    static let maximumMessage = 8_000
    package static let maximumFiles = 3
    package static let maximumFileInBytes = 4 << 20

    var message: String
    var name: String?
    var email: String?
    /// The id of a user of the app.
    var userID: String?
    var appVersion: String?
    /// The id of the crash report that the feedback refers to: 32 hexadecimal digits, or a UUID.
    var eventID: String?
    /// Identifies the feedback when it is sent again.
    var key: String?
    /// Pictures.
    package var files: [File] = []
    /// The client's address, if the sender is not signed in. Not stored.
    var source: String?

    package struct File: Sendable {
        var name: String
        var contentType: String?
        var bytes: ByteBuffer

        package init(name: String, contentType: String?, bytes: ByteBuffer) {
            self.name = name
            self.contentType = contentType
            self.bytes = bytes
        }
    }

    init(
        message: String, name: String? = nil, email: String? = nil, userID: String? = nil, appVersion: String? = nil,
        eventID: String? = nil,
        key: String? = nil, files: [File] = []
    ) {
        self.message = message
        self.name = name
        self.email = email
        self.userID = userID
        self.appVersion = appVersion
        self.eventID = eventID
        self.key = key
        self.files = files
    }

    /// Feedback cut to the limits, for feedback that arrives together with other data. Feedback that is too long must
    /// not prevent the other data from being stored. Nil if the message is empty.
    package static func fitted(
        message: String, name: String? = nil, email: String? = nil, userID: String? = nil, appVersion: String? = nil,
        eventID: String? = nil,
        key: String? = nil
    ) -> Feedback? {
        let message = cut(message, maximumMessage, keepsLines: true)
        guard !message.isEmpty else { return nil }
        func line(_ text: String?, _ limit: Int) -> String? {
            text.map { cut($0, limit, keepsLines: false) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        return Feedback(
            message: message, name: line(name, 200), email: line(email, 254), userID: userID,
            appVersion: line(appVersion, 64),
            eventID: eventID.flatMap(uuid)?.uuidString, key: line(key, 100))
    }

    private static func cut(_ text: String, _ limit: Int, keepsLines: Bool) -> String {
        let scalars = text.unicodeScalars.filter {
            !TicketInput.isControl($0) || keepsLines && ($0 == "\n" || $0 == "\t")
        }
        return String(String.UnicodeScalarView(scalars.prefix(limit))).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Parses a UUID with or without dashes.
    static func uuid(_ text: String) -> UUID? {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ $0 < 0x80 }) else { return UUID(uuidString: text) }
        let digits = Array(text)
        return UUID(
            uuidString: [digits[0..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20..<32]].map {
                String($0)
            }.joined(separator: "-"))
    }

    /// The beginning of the message, as the ticket's title.
    var title: String {
        let line =
            message.split(whereSeparator: \.isNewline).lazy.map { $0.trimmingCharacters(in: .whitespaces) }.first {
                !$0.isEmpty
            } ?? ""
        let scalars = line.unicodeScalars.filter { !TicketInput.isControl($0) }
        guard !scalars.isEmpty else { return Self.untitled }
        return scalars.count <= 80
            ? String(String.UnicodeScalarView(scalars)) : String(String.UnicodeScalarView(scalars.prefix(79))) + "…"
    }

    static let untitled = "Feedback"
}

/// The reason for which feedback was refused.
package enum FeedbackRefusal: Error, Equatable {
    /// The hourly limit has been reached. More is accepted after `seconds`.
    case tooMany(seconds: Int)
    case invalid(field: String, reason: String)
}
