import Foundation
import MartletCore

/// Identifies the fault behind a report: equal for reports of the same fault, even from different builds, and different
/// for others.
///
/// Derived from the client's fingerprint if there is one, or else from the exceptions' types and the calls on their
/// stacks, or else from type and message. A call in source code is represented by its file, name and source line; a
/// compiled call by its name, or without a name by its image or its offset in the image (`isByPlace`).
public struct Grouping: Sendable, Equatable {
    /// Stored beside the hashes. Changing it makes reports create new issues.
    public static let version = 1
    private static let maximumFrames = 100
    private static let longestCycle = 8

    /// The hashed parts: those of the app's own calls, and those of all calls.
    public let appParts: [String]
    public let systemParts: [String]
    /// The hashes of `appParts` and `systemParts`.
    public let appHash: String
    public let systemHash: String
    /// Whether the grouping depends on the offsets of calls without names. The same crash in another build is then
    /// another issue, until symbols supply the names.
    public let isByPlace: Bool
    /// One line that describes the failure, and one that locates it.
    public let title: String
    public let culprit: String

    public init(_ event: Event) {
        let own = DefaultParts(event)
        (appParts, systemParts) = Self.expanded(event.fingerprint, own)
        appHash = Self.hash(appParts)
        systemHash = Self.hash(systemParts)
        isByPlace =
            own.areByPlace && (event.fingerprint.isEmpty || event.fingerprint.contains(where: Self.isPlaceholder))
        title = Self.title(event)
        culprit = Self.culprit(event)
    }

    /// Groups reports that could not be parsed by the reason.
    public init(broken reason: String) {
        appParts = ["broken", MessagePattern.of(reason)]
        systemParts = appParts
        appHash = Self.hash(appParts)
        systemHash = appHash
        isByPlace = false
        title = "Unreadable report: \(reason)".cut(to: 200)
        culprit = ""
    }

    /// The hash shared by all reports for which no more issues are created.
    public static let overflowHash = String(repeating: "f", count: 32)

    public var overflowing: Grouping { Grouping(self, hash: Self.overflowHash) }

    private init(_ other: Grouping, hash: String) {
        (appParts, systemParts, title, culprit) = (other.appParts, other.systemParts, other.title, other.culprit)
        (appHash, systemHash, isByPlace) = (hash, hash, other.isByPlace)
    }

    private static func expanded(_ fingerprint: [String], _ own: DefaultParts) -> (app: [String], system: [String]) {
        let isDefault = fingerprint.isEmpty || fingerprint.allSatisfy(isPlaceholder) && fingerprint.count == 1
        if isDefault { return (own.app, own.system) }
        func parts(_ own: [String]) -> [String] {
            ["fingerprint"] + fingerprint.flatMap { isPlaceholder($0) ? own : [$0] }
        }
        return (parts(own.app), parts(own.system))
    }

    /// `{{ default }}`
    private static func isPlaceholder(_ text: String) -> Bool { text.filter { !$0.isWhitespace } == "{{default}}" }

    private static func hash(_ parts: [String]) -> String {
        String(Credential.hexDigest(of: "\(version)" + parts.map { "\u{1f}" + $0 }.joined()).prefix(32))
    }

    private static func title(_ event: Event) -> String {
        let exception = event.exceptions.last
        let value = (exception?.value).flatMap { $0.isEmpty ? nil : $0 } ?? (exception == nil ? event.message : "")
        let line = String(value.split(separator: "\n").first ?? "")
        let type = exception?.type ?? ""
        let title = [type, line].filter { !$0.isEmpty }.joined(separator: ": ")
        return (title.isEmpty ? "Report without a message" : title).cut(to: 200)
    }

    /// The innermost named call, preferably one of the app's own.
    private static func culprit(_ event: Event) -> String {
        let frames = event.stacks.last?.frames ?? []
        let frame =
            frames.last { $0.isInApp == true && $0.hasName }
            ?? (event.transaction.isEmpty ? frames.last(where: \.hasName) : nil)
        guard let frame else { return event.transaction }
        let place =
            frame.module.isEmpty || frame.function.contains(frame.module)
            ? String(frame.filename.lastComponent) : frame.module
        let name = frame.isNative ? FunctionName.normalized(frame.function) : frame.function
        return (place.isEmpty ? name : "\(name) in \(place)").cut(to: 200)
    }

    /// Removes repetitions: `a b b c b c d` becomes `a b c d`, so that the depth of a recursion does not matter.
    static func folded(_ keys: [String]) -> [String] {
        var kept: [String] = []
        for key in keys {
            kept.append(key)
            for length in 1...longestCycle where kept.count >= 2 * length {
                let (first, second) = (kept.count - 2 * length, kept.count - length)
                if kept[first..<second] == kept[second...] {
                    kept.removeLast(length)
                    break
                }
            }
        }
        return Array(kept.suffix(maximumFrames))
    }
}

/// The parts that a report is grouped by if the client sends no fingerprint.
private struct DefaultParts {
    let app: [String]
    let system: [String]
    var areByPlace = false

    init(_ event: Event) {
        let stacks = event.stacks.filter { !$0.frames.isEmpty || $0.exception != nil }
        let keys = FrameKeys(event)
        if stacks.contains(where: { !$0.frames.isEmpty }) {
            let hasOwn = stacks.contains { $0.frames.contains { $0.isInApp == true } }
            let named = stacks.map { stack in
                (stack.exception, zip(stack.frames, keys.of(stack.frames)).map { (isOwn: $0.isInApp == true, key: $1) })
            }
            let all = named.flatMap { Self.parts($0.0, Grouping.folded($0.1.map(\.key))) }
            system = all
            areByPlace = stacks.contains { FrameKeys.areByPlace($0.frames, ownOnly: hasOwn) }
            app = hasOwn ? named.flatMap { Self.parts($0.0, Grouping.folded($0.1.filter(\.isOwn).map(\.key))) } : all
            return
        }
        if !event.exceptions.isEmpty {
            app = event.exceptions.flatMap { ["exception", $0.type, MessagePattern.of($0.value)] }
        } else if !event.message.isEmpty || !event.template.isEmpty {
            app = ["message", MessagePattern.of(event.template.isEmpty ? event.message : event.template)]
        } else {
            app = ["nothing", event.platform, event.logger, event.transaction]
        }
        system = app
    }

    private static func parts(_ exception: Event.Exception?, _ keys: [String]) -> [String] {
        ["stack", exception.map { $0.isSynthetic ? "" : $0.type } ?? ""] + keys
    }
}
