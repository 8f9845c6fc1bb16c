import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// An alert rule: what triggers it and where it is delivered.
struct Alert: Sendable, Equatable {
    enum Kind: String, Sendable, CaseIterable {
        /// A new issue.
        case newIssue
        /// A resolved issue that occurred again.
        case regression
        /// The number of reports, or of users with reports, within a time window.
        case rate
        /// A crash-free rate of sessions or users below a threshold.
        case crashFree
    }

    /// Whether issues are counted one by one or all together.
    enum Scope: String, Sendable, CaseIterable {
        case issue, app
    }

    enum Measure: String, Sendable, CaseIterable {
        case events, users, sessions
    }

    static let maximumPerSpace = 50
    static let maximumReleases = 20
    /// Allowed window of a rate, in seconds: a minute to a week.
    static let rateWindow = 60...604_800
    /// Allowed window of a crash-free rate, in whole UTC days including today.
    static let crashFreeWindow = 1...30
    /// Allowed pause between two firings, in seconds: a minute to a day.
    static let pause = 60...86_400
    static let defaultPauseInSeconds = 300
    /// How long messages are also signed with the former secret after a rotation.
    static let formerSecretSeconds = 86_400

    var name: String
    var kind: Kind
    var isEnabled: Bool
    /// Empty matches any level.
    var levels: [CrashLevel]
    /// Names or versions of releases. Empty matches any release.
    var releases: [String]
    var scope: Scope
    /// Nil if the kind counts nothing.
    var measure: Measure?
    var threshold: Double
    var windowInSeconds: Int
    var minimum: Int
    var pauseInSeconds: Int
    var target: AlertAddress

    static let fields: Set<String> = [
        "name", "kind", "enabled", "levels", "releases", "scope", "measure", "threshold", "windowSeconds", "windowDays",
        "minimum", "pauseSeconds",
        "target",
    ]

    /// Validates everything except whether the target can be reached.
    ///
    /// - Throws: `invalid-body` naming the field.
    init(_ body: BodyFields) throws {
        name = try body.requiredString("name")
        guard (1...200).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw ServiceError(.invalidBody, "Expected 1 to 200 bytes without NUL characters.", field: "name")
        }
        kind = try body.requiredChoice("kind")
        isEnabled = try body.flag("enabled") ?? true
        levels = try (body.strings("levels", upTo: CrashLevel.allCases.count) ?? []).map {
            guard let level = CrashLevel(name: $0) else {
                throw ServiceError.unexpectedMember("levels", expected: "one of \(CrashLevel.names)", found: $0)
            }
            return level
        }
        releases = try body.strings("releases", upTo: Self.maximumReleases) ?? []
        guard releases.allSatisfy({ (1...250).contains($0.utf8.count) && !$0.utf8.contains(0) }) else {
            throw ServiceError(
                .invalidBody, "Expected releases of 1 to 250 bytes without NUL characters.", field: "releases")
        }
        pauseInSeconds = try body.integer("pauseSeconds", in: Self.pause) ?? Self.defaultPauseInSeconds
        target = try AlertAddress(body["target"])
        try body.refuse(Self.countingFields.subtracting(Self.countingFields(of: kind)), with: kind)
        if kind == .crashFree, !levels.isEmpty {
            throw ServiceError(
                .invalidBody, "Sessions have no level, so a crash-free alert cannot filter by levels.", field: "levels")
        }
        (scope, measure, threshold, windowInSeconds, minimum) = (.issue, nil, 0, 0, 0)
        switch kind {
        case .newIssue, .regression: break
        case .rate: try readRate(body)
        case .crashFree: try readCrashFree(body)
        }
    }

    private static let countingFields: Set<String> = [
        "scope", "measure", "threshold", "windowSeconds", "windowDays", "minimum",
    ]

    private static func countingFields(of kind: Kind) -> Set<String> {
        switch kind {
        case .newIssue, .regression: []
        case .rate: ["scope", "measure", "threshold", "windowSeconds"]
        case .crashFree: ["measure", "threshold", "windowDays", "minimum"]
        }
    }

    private mutating func readRate(_ body: BodyFields) throws {
        scope = try body.choice("scope") ?? .issue
        let measure: Measure = try body.choice("measure") ?? .events
        guard measure != .sessions else {
            throw ServiceError(
                .invalidBody, "Expected events or users as the measure of a rate, found sessions.", field: "measure")
        }
        self.measure = measure
        guard let count = try body.integer("threshold", in: 1...1_000_000_000) else {
            throw ServiceError(.invalidBody, "This field is required.", field: "threshold")
        }
        guard let window = try body.integer("windowSeconds", in: Self.rateWindow) else {
            throw ServiceError(.invalidBody, "This field is required.", field: "windowSeconds")
        }
        (threshold, windowInSeconds) = (Double(count), window)
    }

    private mutating func readCrashFree(_ body: BodyFields) throws {
        scope = .app
        let measure: Measure = try body.choice("measure") ?? .sessions
        guard measure != .events else {
            throw ServiceError(
                .invalidBody, "Expected sessions or users as the measure of a crash-free rate, found events.",
                field: "measure")
        }
        self.measure = measure
        guard case .number(let literal) = body["threshold"], let percent = Double(literal), percent > 0, percent <= 100
        else {
            throw ServiceError(
                .invalidBody,
                "Expected a percentage above 0 and at most 100, found \(body["threshold"]?.phrase ?? "nothing").",
                field: "threshold")
        }
        threshold = percent
        windowInSeconds = (try body.integer("windowDays", in: Self.crashFreeWindow) ?? 1) * 86_400
        minimum = try body.integer("minimum", in: 1...1_000_000_000) ?? 100
    }
}

extension BodyFields {
    fileprivate func refuse(_ names: Set<String>, with kind: Alert.Kind) throws {
        for name in names.sorted() where self[name] != nil {
            throw ServiceError(
                .invalidBody, "An alert of the kind \(kind.rawValue) does not have this field.", field: name)
        }
    }
}
