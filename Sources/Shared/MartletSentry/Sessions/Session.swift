public import Foundation
public import MartletCore

/// The state of a session. It can only become worse.
public enum SessionState: Int, Sendable, Comparable {
    /// Running, or ended normally.
    case healthy
    /// With errors that did not end the session.
    case errored
    /// Ended by something other than the app or its user.
    case abnormal
    case crashed

    public static func < (left: SessionState, right: SessionState) -> Bool { left.rawValue < right.rawValue }
}

/// The release and environment of sessions.
public struct SessionAttributes: Sendable, Hashable {
    public var release: String
    /// Sentry's environment.
    public var stage: String

    /// Nil without a release, because sessions are counted by release.
    init?(_ value: JSONValue?) {
        guard let release = value?["release"]?.looseText, !release.isEmpty else { return nil }
        self.release = release.cut(toBytes: 250)
        stage = (value?["environment"]?.looseText ?? "").cut(toBytes: 64)
    }
}

/// The state of one session, sent whenever it changes (`session`).
public struct SessionUpdate: Sendable, Equatable {
    public let id: UUID
    /// The id of the user or device.
    public let person: String?
    public let started: Date
    public let state: SessionState
    public let attributes: SessionAttributes

    /// Nil if the session cannot be counted.
    public init?(_ value: JSONValue, received: Date) {
        guard let id = value["sid"]?.looseText.flatMap(UUID.init(eventID:)),
            let attributes = SessionAttributes(value["attrs"])
        else { return nil }
        self.id = id
        self.attributes = attributes
        person = value["did"]?.looseText.flatMap { $0.isEmpty ? nil : $0.cut(to: 250) }
        started = Self.fitted(Date(loose: value["started"]) ?? Date(loose: value["timestamp"]), received)
        state =
            switch value["status"]?.looseText {
            case "crashed": .crashed
            case "abnormal": .abnormal
            case "errored": .errored
            default: (value["errors"]?.looseNumber ?? 0) > 0 ? .errored : .healthy
            }
    }

    /// Replaces times in the future, and those more than 90 days ago, with the time of receipt.
    static func fitted(_ date: Date?, _ received: Date) -> Date {
        guard let date, date <= received, date > received.addingTimeInterval(-90 * 86_400) else { return received }
        return date
    }
}

/// The number of sessions by outcome in a minute or hour (`sessions`).
public struct SessionCounts: Sendable, Equatable {
    private static let maximumAggregates = 1_000
    private static let maximumCount = 1_000_000

    public let person: String?
    public let started: Date
    public let attributes: SessionAttributes
    /// Each session is counted in exactly one of these.
    public let healthy: Int
    public let errored: Int
    public let abnormal: Int
    public let crashed: Int

    /// The aggregates of an item.
    public static func all(_ value: JSONValue, received: Date) -> [SessionCounts] {
        guard let attributes = SessionAttributes(value["attrs"]) else { return [] }
        return (value["aggregates"]?.looseList ?? []).prefix(maximumAggregates).map {
            SessionCounts($0, attributes, received)
        }
    }

    private init(_ value: JSONValue, _ attributes: SessionAttributes, _ received: Date) {
        func count(_ name: String) -> Int { Int(min(max(0, value[name]?.looseNumber ?? 0), Double(Self.maximumCount))) }
        self.attributes = attributes
        person = value["did"]?.looseText.flatMap { $0.isEmpty ? nil : $0.cut(to: 250) }
        started = SessionUpdate.fitted(Date(loose: value["started"]), received)
        healthy = count("exited")
        errored = count("errored")
        abnormal = count("abnormal")
        crashed = count("crashed")
    }

    public var total: Int { healthy + errored + abnormal + crashed }
}
