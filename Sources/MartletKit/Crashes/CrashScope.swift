public import Foundation

/// The severity of a report or breadcrumb.
public enum CrashLevel: String, Sendable, Hashable, CaseIterable {
    case fatal, error, warning, info, debug
}

/// Something that happened before an error.
public struct Breadcrumb: Sendable, Hashable {
    public var message: String
    /// `navigation`, `network`, a name of your own.
    public var category: String
    public var level: CrashLevel
    public var data: [String: String]
    public var date: Date?

    /// - Parameter date: Nil: now.
    public init(
        _ message: String, category: String = "default", level: CrashLevel = .info, data: [String: String] = [:],
        date: Date? = nil
    ) {
        self.message = message
        self.category = category
        self.level = level
        self.data = data
        self.date = date
    }
}

/// The context that is reported with every error. Its size is limited, because it has to fit into a buffer of a fixed
/// size.
struct CrashScope: Sendable {
    static let maximumBreadcrumbs = 60
    static let maximumTags = 50
    static let maximumSize = 64 << 10

    var userID: String?
    private(set) var tags: [String: String] = [:]
    private var breadcrumbs: [JSON] = []
    /// The Objective-C exception that is about to end the process.
    var exception: (name: String, reason: String)?

    mutating func setTag(_ name: String, _ value: String?) {
        guard value == nil || tags[name] != nil || tags.count < Self.maximumTags else { return }
        tags[Self.cut(name, 32)] = value.map { Self.cut($0, 200) }
    }

    mutating func add(_ breadcrumb: Breadcrumb, now: Date) {
        var json: JSON = [
            "timestamp": .string(RFC3339.text(breadcrumb.date ?? now)),
            "message": .string(Self.cut(breadcrumb.message, 300)), "level": .string(breadcrumb.level.rawValue),
            "category": .string(Self.cut(breadcrumb.category, 60)),
        ]
        var data: [String: JSON] = [:]
        for name in breadcrumb.data.keys.sorted().prefix(8) {
            data[Self.cut(name, 40)] = .string(Self.cut(breadcrumb.data[name] ?? "", 100))
        }
        if !data.isEmpty { json["data"] = .object(data) }
        breadcrumbs.append(json)
        if breadcrumbs.count > Self.maximumBreadcrumbs { breadcrumbs.removeFirst() }
    }

    /// The scope as members of a report.
    var json: JSON {
        var json: JSON = ["tags": .object(tags.mapValues(JSON.string))]
        if let userID { json["user"] = ["id": .string(Self.cut(userID, 128))] }
        if !breadcrumbs.isEmpty { json["breadcrumbs"] = ["values": .array(breadcrumbs)] }
        if let exception {
            json["exceptionName"] = .string(Self.cut(exception.name, 200))
            json["exceptionReason"] = .string(Self.cut(exception.reason, 1_000))
        }
        return json
    }

    private static func cut(_ text: String, _ length: Int) -> String { String(text.prefix(length)) }
}
