public import Foundation
public import MartletCore

/// A report of something that went wrong, as any of Sentry's clients writes it.
///
/// Read loosely: what has another shape than it should is left out and named in `problems`; nothing makes a report unreadable that is an object.
public struct Event: Sendable {
    public struct Exception: Sendable {
        public var type: String
        public var value: String
        public var module: String
        /// Made up by the client, to have one.
        public var isSynthetic: Bool
        /// Nil: not said.
        public var isHandled: Bool?
        public var thread: String?
        /// Oldest call first.
        public var frames: [Frame]
    }

    public struct Thread: Sendable {
        public var id: String
        public var hasCrashed: Bool
        public var isCurrent: Bool
        public var frames: [Frame]
    }

    /// A piece of compiled code, as it was loaded.
    struct Image: Sendable {
        var name: String
        var address: UInt64
        var size: UInt64

        func contains(_ instruction: UInt64) -> Bool { instruction >= address && instruction - address < size }
    }

    public struct Tag: Sendable, Hashable {
        public var key: String
        public var value: String

        public init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    public internal(set) var id: UUID
    /// Nil: not said.
    public internal(set) var timestamp: Date?
    public internal(set) var platform = ""
    public internal(set) var level: Level?
    public internal(set) var release: String?
    public internal(set) var stage = ""
    public internal(set) var transaction = ""
    public internal(set) var logger = ""
    /// With its parameters filled in.
    public internal(set) var message = ""
    /// As it is in the source, when the client says so.
    public internal(set) var template = ""
    /// The cause first.
    public internal(set) var exceptions: [Exception] = []
    public internal(set) var threads: [Thread] = []
    /// Of an event that has neither.
    public internal(set) var frames: [Frame] = []
    var images: [Image] = []
    public internal(set) var fingerprint: [String] = []
    public internal(set) var tags: [Tag] = []
    /// Who was hit: the user's id, else e-mail, else name. Nil: nobody knows.
    public internal(set) var person: String?
    /// `iOS 17.2`; empty: not said.
    public internal(set) var os = ""
    /// The model.
    public internal(set) var device = ""
    /// The remote configuration's version and the experiments' variations that were active.
    public internal(set) var configuration = ""
    public internal(set) var variants = ""
    /// Sentences on what was not as it should be.
    public internal(set) var problems: [String] = []
    /// What is kept of the report: Sentry's form, with lists as `{"values":[…]}`, tags as an object, and without what may not be kept.
    public internal(set) var content: JSONValue = .object([])

    /// It ended the app.
    public var isCrash: Bool { exceptions.contains { $0.isHandled == false } || level == .fatal }

    /// As the client says, else what it looks like.
    public var gravity: Level { level ?? (isCrash ? .fatal : exceptions.isEmpty ? .info : .error) }
}
