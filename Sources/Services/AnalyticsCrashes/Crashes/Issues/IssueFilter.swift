import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Selects issues. Properties that are empty or nil do not restrict the selection.
struct IssueFilter: Sendable {
    private static let maximumTags = 5
    private static let maximumTextLength = 200

    var states: [IssueState] = []
    var levels: [CrashLevel] = []
    var kinds: [IssueKind] = []
    /// A release's name, or a version, which several builds may share.
    var release: String?
    /// Text in the title or culprit, ignoring case.
    var text: String?
    var tags: [(key: String, value: String)] = []
    /// The version of the configuration that was active when the issue occurred.
    var configuration: String?
    /// The active variant, as `experiment=variation`.
    var variant: String?
    /// A staff member's id, or `none`.
    var assignee: String?
    /// From the first time, inclusive, to the second, exclusive.
    var firstSeen: (from: Date?, to: Date?) = (nil, nil)
    var lastSeen: (from: Date?, to: Date?) = (nil, nil)

    init() {}

    /// - Throws: `invalid-parameter`.
    init(_ request: Request) throws {
        states = try request.words("state") { IssueState(rawValue: $0) }
        levels = try request.words("level") { CrashLevel(name: $0) }
        kinds = try request.words("kind") { IssueKind(rawValue: $0) }
        release = try request.shortText("release", upTo: 250)
        text = try request.shortText("text", upTo: Self.maximumTextLength)
        configuration = try request.shortText("configuration", upTo: 200)
        variant = try request.shortText("variant", upTo: 400)
        guard variant?.contains("=") ?? true, !(variant?.contains(",") ?? false) else {
            throw ServiceError.unexpectedParameter(
                "variant", expected: "a variant such as experiment=variation", found: (variant ?? "")[...])
        }
        assignee = try request.shortText("assignee", upTo: 64)?.lowercased()
        guard assignee.map({ $0 == "none" || UUID(uuidString: $0) != nil }) ?? true else {
            throw ServiceError.unexpectedParameter(
                "assignee", expected: "a staff member's id, or none", found: (assignee ?? "")[...])
        }
        firstSeen = (try request.time("firstSeenFrom"), try request.time("firstSeenTo"))
        lastSeen = (try request.time("lastSeenFrom"), try request.time("lastSeenTo"))
        let texts = request.uri.queryParameters.getAll("tag")
        guard texts.count <= Self.maximumTags else {
            throw ServiceError(
                .invalidParameter, "Expected at most \(Self.maximumTags) tags, found \(texts.count).", field: "tag")
        }
        tags = try texts.map { tag in
            guard let colon = tag.firstIndex(of: ":"), colon > tag.startIndex, tag.utf8.count <= 1_000,
                !tag.utf8.contains(0)
            else {
                throw ServiceError.unexpectedParameter("tag", expected: "a tag such as key:value", found: tag[...])
            }
            return (String(tag[..<colon]), String(tag[tag.index(after: colon)...]))
        }
    }

    /// The condition on the row `i`.
    func condition(in space: Space) -> PostgresQuery {
        var parts: [PostgresQuery] = ["i.space = \(space.id) AND i.deleted IS NULL"]
        if !states.isEmpty { parts.append("\(IssueState.expression) = ANY (\(states.map(\.rawValue)))") }
        if !levels.isEmpty { parts.append("i.level = ANY (\(levels.map(\.rawValue)))") }
        if !kinds.isEmpty { parts.append("i.kind = ANY (\(kinds.map(\.rawValue)))") }
        if let release {
            parts.append(
                """
                EXISTS (SELECT FROM analytics.issue_releases AS ir JOIN analytics.releases AS r ON r.id = ir.release
                    WHERE ir.issue = i.id AND (r.name = \(release) OR r.version = \(release)))
                """)
        }
        if let text {
            parts.append("(strpos(lower(i.title), lower(\(text))) > 0 OR strpos(lower(i.culprit), lower(\(text))) > 0)")
        }
        for tag in tags {
            parts.append(
                "EXISTS (SELECT FROM analytics.issue_tags AS t WHERE t.issue = i.id AND t.key = \(tag.key) AND t.value = \(tag.value))"
            )
        }
        if let configuration { parts.append(Self.hasTag("martlet.config", "t.value = \(configuration)")) }
        if let variant {
            // A list such as `checkout=dark,size=b`, possibly with blanks.
            parts.append(
                Self.hasTag("martlet.variants", "\(variant) = ANY (regexp_split_to_array(trim(t.value), '\\s*,\\s*'))"))
        }
        if let assignee { parts.append(assignee == "none" ? "i.assignee IS NULL" : "i.assignee = \(assignee)") }
        if let from = firstSeen.from { parts.append("i.first_seen >= \(from)") }
        if let to = firstSeen.to { parts.append("i.first_seen < \(to)") }
        if let from = lastSeen.from { parts.append("i.last_seen >= \(from)") }
        if let to = lastSeen.to { parts.append("i.last_seen < \(to)") }
        return parts.joined(separator: " AND ")
    }

    private static func hasTag(_ key: String, _ condition: PostgresQuery) -> PostgresQuery {
        "EXISTS (SELECT FROM analytics.issue_tags AS t WHERE t.issue = i.id AND t.key = \(key) AND \(condition))"
    }
}

/// The order of a list of issues, always descending.
enum IssueOrder: String, Sendable, CaseIterable {
    case lastSeen, firstSeen, events, users

    /// - Throws: `invalid-parameter`.
    init(_ request: Request) throws {
        self = try request.choice("sort") ?? .lastSeen
    }

    /// The column of the row `i`.
    var column: PostgresQuery {
        switch self {
        case .lastSeen: "i.last_seen"
        case .firstSeen: "i.first_seen"
        case .events: "i.events"
        case .users: "i.users"
        }
    }

    /// The column's value as an integer; times are in microseconds.
    var number: PostgresQuery { isTime ? PostgresQuery.microseconds(column) : column }

    /// The inverse of `number`: an integer as a value of the column.
    func value(_ number: Int64) -> PostgresQuery { isTime ? PostgresQuery.time(number) : "\(number)" }

    private var isTime: Bool { self == .lastSeen || self == .firstSeen }
}

extension PostgresQuery {
    /// A `timestamptz` as microseconds since 1970.
    static func microseconds(_ time: PostgresQuery) -> PostgresQuery {
        "(extract(epoch FROM \(time)) * 1000000)::bigint"
    }

    static func time(_ microseconds: Int64) -> PostgresQuery {
        "(timestamptz 'epoch' + \(microseconds) * interval '1 microsecond')"
    }
}

extension Request {
    /// A comma-separated list of words.
    ///
    /// - Throws: `invalid-parameter` for an unknown word.
    fileprivate func words<Word: CaseIterable>(_ name: Substring, _ word: (String) -> Word?) throws -> [Word] {
        guard let text = uri.queryParameters[name] else { return [] }
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map { word(String($0)) }
        guard words.count <= Word.allCases.count, !words.contains(where: { $0 == nil }) else {
            let known = Word.allCases.map { "\($0)" }.joined(separator: ", ")
            throw ServiceError.unexpectedParameter(
                name, expected: "one or more of \(known), separated by commas", found: text)
        }
        return words.compactMap(\.self)
    }

    /// - Throws: `invalid-parameter` if the text is empty or too long.
    func shortText(_ name: Substring, upTo limit: Int) throws -> String? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard (1...limit).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ServiceError(
                .invalidParameter, "Expected 1 to \(limit) bytes without NUL characters.", field: String(name))
        }
        return String(text)
    }
}
