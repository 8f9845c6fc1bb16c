import Foundation
import MartletCore
import MartletPostgres
import MartletSentry

/// What an envelope holds, ready to be stored.
struct DigestedEnvelope: Sendable {
    let space: Space
    let received: Date
    var report: DigestedReport?
    var updates: [SessionUpdate] = []
    var counts: [SessionCounts] = []
    var outcomes: [DigestedOutcome] = []
    var feedback: [DigestedFeedback] = []
    /// Sent with feedback and without a report.
    var pictures: [Feedback.File] = []
    var attachments: [DigestedAttachment] = []
}

/// A report, grouped.
struct DigestedReport: Sendable {
    enum Kind: String, Sendable {
        case crash, error, message, broken
    }

    let space: Space
    let eventID: UUID
    let received: Date
    /// When it happened by our clock.
    let at: Date
    let kind: Kind
    let level: Level
    let isHandled: Bool
    let platform: String
    let release: ReleaseName?
    let stage: String
    let os: String
    let device: String
    let configuration: String
    let variants: String
    let message: String
    let person: Int64
    /// The client's tags and our own.
    let tags: [Event.Tag]
    var grouping: Grouping
    /// JSON.
    let content: String
    /// The debug ids that it waits for.
    let awaited: [String]
}

/// What did not become a report.
struct DigestedOutcome: Sendable, Hashable {
    enum Source: String, Sendable {
        case client, server
    }

    var source: Source
    var category: DataCategory
    var reason: String
    var quantity: Int
}

/// What a person wrote, and what is known of it beside.
struct DigestedFeedback: Sendable {
    var words: UserFeedback
    /// Of the release it was sent by.
    var appVersion: String?
    /// A user of the app, as the client says.
    var user: UUID?
    var pictures: [Feedback.File] = []

    init(_ words: UserFeedback, from event: JSONValue) {
        self.words = words
        appVersion = event["release"]?.looseText.map { ReleaseName($0).version }
        user = event["user"]?["id"]?.looseText.flatMap { UUID(uuidString: $0) }
    }
}

/// A file of a report, whose bytes are stored already.
struct DigestedAttachment: Sendable {
    var eventID: UUID
    var blob: String
    var name: String
    var contentType: String
    var kind: String
    var sizeInBytes: Int
}
