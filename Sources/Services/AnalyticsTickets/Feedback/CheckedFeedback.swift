import Foundation
import MartletFiles
import NIOCore

/// Validates feedback and parses its user id and its report's id.
struct CheckedFeedback: Sendable {
    let user: UUID?
    let event: UUID?

    init(_ feedback: Feedback) throws {
        func check(_ isGood: Bool, _ field: String, _ reason: String) throws {
            if !isGood { throw FeedbackRefusal.invalid(field: field, reason: reason) }
        }
        try check(
            (1...Feedback.maximumMessage).contains(feedback.message.unicodeScalars.count), "message",
            "Must have 1 to \(Feedback.maximumMessage) characters.")
        for (field, text, limit) in [
            ("message", feedback.message, Feedback.maximumMessage), ("name", feedback.name ?? "", 200),
            ("email", feedback.email ?? "", 254),
            ("appVersion", feedback.appVersion ?? "-", 64), ("key", feedback.key ?? "-", 100),
        ] {
            try check(text.unicodeScalars.count <= limit, field, "Must have at most \(limit) characters.")
            try check(
                !text.unicodeScalars.contains { TicketInput.isControl($0) && !["\n", "\r", "\t"].contains($0) }, field,
                "Must not contain control characters.")
        }
        try check(feedback.appVersion != "" && feedback.key != "", "appVersion", "Must not be empty.")
        user = feedback.userID.flatMap { UUID(uuidString: $0) }
        try check(feedback.userID == nil || user != nil, "user", "Expected the id of a user.")
        event = feedback.eventID.flatMap(Feedback.uuid)
        try check(
            feedback.eventID == nil || event != nil, "eventId", "Expected the id of an event: 32 hexadecimal digits.")
        try check(
            feedback.files.count <= Feedback.maximumFiles, "files",
            "At most \(Feedback.maximumFiles) files are allowed.")
        for file in feedback.files {
            try check(
                file.bytes.readableBytes <= Feedback.maximumFileInBytes, "screenshot",
                "Expected pictures of at most \(Feedback.maximumFileInBytes) bytes.")
            let prefix = Array(file.bytes.readableBytesView.prefix(512))
            try check(
                ContentType.isPicture(ContentType.decide(declared: nil, prefix: prefix)), "screenshot",
                "The file is not a picture.")
        }
    }
}
