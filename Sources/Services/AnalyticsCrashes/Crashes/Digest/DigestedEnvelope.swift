import AnalyticsTickets
import Foundation
import MartletCore
import MartletPostgres
import MartletSentry

/// The contents of an envelope, ready to be stored.
struct DigestedEnvelope: Sendable {
    let space: Space
    let received: Date
    var report: DigestedReport?
    var updates: [SessionUpdate] = []
    var counts: [SessionCounts] = []
    var outcomes: [DigestedOutcome] = []
    var feedback: [DigestedFeedback] = []
    /// Images sent with feedback in an envelope without a report.
    var pictures: [Feedback.File] = []
    var attachments: [DigestedAttachment] = []
}

/// A report after parsing and grouping.
struct DigestedReport: Sendable {
    enum Kind: String, Sendable {
        case crash, error, message, broken
    }

    let space: Space
    let eventID: UUID
    let received: Date
    /// The time of occurrence by our clock.
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
    /// The client's tags followed by our own.
    let tags: [Event.Tag]
    var grouping: Grouping
    /// JSON.
    let content: String
    /// Debug ids of the missing symbols.
    let awaited: [String]
}

/// A count of items that did not become a report.
struct DigestedOutcome: Sendable, Hashable {
    enum Source: String, Sendable {
        case client, server
    }

    var source: Source
    var category: DataCategory
    var reason: String
    var quantity: Int
}

/// A user's feedback with its metadata.
struct DigestedFeedback: Sendable {
    var userFeedback: UserFeedback
    /// The version of the release it was sent from.
    var appVersion: String?
    /// The app's user, as reported by the client.
    var user: UUID?
    var pictures: [Feedback.File] = []

    init(_ userFeedback: UserFeedback, from event: JSONValue) {
        self.userFeedback = userFeedback
        appVersion = event["release"]?.looseText.map { ReleaseName($0).version }
        user = event["user"]?["id"]?.looseText.flatMap { UUID(uuidString: $0) }
    }
}

/// A report's attachment, whose bytes are already stored.
struct DigestedAttachment: Sendable {
    var eventID: UUID
    var blob: String
    var name: String
    var contentType: String
    var kind: String
    var sizeInBytes: Int
}
