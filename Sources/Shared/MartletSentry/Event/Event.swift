public import Foundation
public import MartletCore

/// A report of an error, as written by any of Sentry's clients.
///
/// Parsing is lenient: values of the wrong type are left out and listed in `problems`. Any report that is an object can
/// be read.
public struct Event: Sendable {
    public struct Exception: Sendable {
        public var type: String
        public var value: String
        public var module: String
        /// Invented by the client for an event without an exception.
        public var isSynthetic: Bool
        /// Nil if unknown.
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

    /// A loaded image of compiled code.
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
    /// Nil if unknown.
    public internal(set) var timestamp: Date?
    public internal(set) var platform = ""
    public internal(set) var level: Level?
    public internal(set) var release: String?
    public internal(set) var stage = ""
    public internal(set) var transaction = ""
    public internal(set) var logger = ""
    /// The message with its parameters filled in.
    public internal(set) var message = ""
    /// The message as written in the source, if the client reports it.
    public internal(set) var template = ""
    /// Causes first.
    public internal(set) var exceptions: [Exception] = []
    public internal(set) var threads: [Thread] = []
    /// The stack of an event without exceptions and threads.
    public internal(set) var frames: [Frame] = []
    var images: [Image] = []
    public internal(set) var fingerprint: [String] = []
    public internal(set) var tags: [Tag] = []
    /// The affected person: the user's id, or else the e-mail address, or else the name. Nil if unknown.
    public internal(set) var person: String?
    /// For example `iOS 17.2`; empty if unknown.
    public internal(set) var os = ""
    /// The device's model.
    public internal(set) var device = ""
    /// The version of the remote configuration, and the experiment variations, that were active.
    public internal(set) var configuration = ""
    public internal(set) var variants = ""
    /// Descriptions of what was malformed.
    public internal(set) var problems: [String] = []
    /// The stored content: in Sentry's format, with lists as `{"values":[…]}` and tags as an object, and without data
    /// that must not be stored.
    public internal(set) var content: JSONValue = .object([])

    /// Whether the error ended the app.
    public var isCrash: Bool { exceptions.contains { $0.isHandled == false } || level == .fatal }

    /// The client's level, or else one derived from the event.
    public var severity: Level { level ?? (isCrash ? .fatal : exceptions.isEmpty ? .info : .error) }
}
