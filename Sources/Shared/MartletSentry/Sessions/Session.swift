public import Foundation
public import MartletCore

/// How a session went. It only becomes worse.
public enum SessionState: Int, Sendable, Comparable {
    /// Running, or ended as it should.
    case healthy
    /// With errors that did not end it.
    case errored
    /// Ended by something else than the app or its user.
    case abnormal
    case crashed

    public static func < (left: SessionState, right: SessionState) -> Bool { left.rawValue < right.rawValue }
}

/// Of whom and what sessions are.
public struct SessionAttributes: Sendable, Hashable {
    public var release: String
    /// Sentry's environment.
    public var stage: String

    /// Nil without a release: there is nothing to count it under.
    init?(_ value: JSONValue?) {
        guard let release = value?["release"]?.looseText, !release.isEmpty else { return nil }
        self.release = release.cut(toBytes: 250)
        stage = (value?["environment"]?.looseText ?? "").cut(toBytes: 64)
    }
}

/// One session's state, sent as often as it changes (`session`).
public struct SessionUpdate: Sendable, Equatable {
    public let id: UUID
    /// Of the user or device.
    public let person: String?
    public let started: Date
    public let state: SessionState
    public let attributes: SessionAttributes

    /// Nil: it cannot be counted.
    public init?(_ value: JSONValue, received: Date) {
        guard let id = value["sid"]?.looseText.flatMap(UUID.init(eventID:)), let attributes = SessionAttributes(value["attrs"]) else { return nil }
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

    /// Never in the future, and not so far back that nobody would look.
    static func fitted(_ date: Date?, _ received: Date) -> Date {
        guard let date, date <= received, date > received.addingTimeInterval(-90 * 86_400) else { return received }
        return date
    }
}

/// How many sessions of a minute or hour went how (`sessions`).
public struct SessionCounts: Sendable, Equatable {
    private static let maximumAggregates = 1_000
    private static let maximumCount = 1_000_000

    public let person: String?
    public let started: Date
    public let attributes: SessionAttributes
    /// Each session is in one of them.
    public let healthy: Int
    public let errored: Int
    public let abnormal: Int
    public let crashed: Int

    /// The aggregates that can be counted.
    public static func all(_ value: JSONValue, received: Date) -> [SessionCounts] {
        guard let attributes = SessionAttributes(value["attrs"]) else { return [] }
        return (value["aggregates"]?.looseList ?? []).prefix(maximumAggregates).map { SessionCounts($0, attributes, received) }
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
