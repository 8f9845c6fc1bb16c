import MartletCore

/// The data available to a rule's conditions, recipients and texts.
///
/// For a change: `object`, `previous`, `collection`, `id`, `change` (`created`, `updated`, `deleted`), `changed` (names
/// of top-level fields), `actor` (the user who wrote, or null), `at`. For an alert: `alert`, `app`, `environment`,
/// `issues` and others. For a schedule: `at`.
struct Facts: Sendable {
    let json: JSONValue

    init(_ members: [JSONValue.Member]) {
        json = .object(members)
    }

    /// The facts of a change in storage's log.
    init(change: JSONValue) {
        guard case .object(let members) = change else {
            json = .object([])
            return
        }
        let changed = Self.changed(change["object"] ?? .null, change["previous"] ?? .null)
        json = .object(members.filter { $0.name != "seq" } + [.init("changed", .array(changed.map(JSONValue.string)))])
    }

    private static let ignored: Set<String> = ["updated", "_version"]

    /// The names of the top-level fields that differ, except those that storage itself maintains.
    private static func changed(_ object: JSONValue, _ previous: JSONValue) -> [String] {
        let (new, old) = (byName(object), byName(previous))
        var names: [String] = []
        var known = ignored
        for case .object(let members) in [object, previous] {
            for member in members where new[member.name] != old[member.name] && known.insert(member.name).inserted {
                names.append(member.name)
            }
        }
        return names
    }

    /// A dictionary, because objects may have thousands of members.
    private static func byName(_ json: JSONValue) -> [String: JSONValue] {
        guard case .object(let members) = json else { return [:] }
        return Dictionary(members.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// The value at a dotted path; nil if there is none.
    func value(at path: some StringProtocol) -> JSONValue? { Self.value(at: path, in: json) }

    static func value(at path: some StringProtocol, in json: JSONValue) -> JSONValue? {
        var value = json
        for name in path.split(separator: ".", omittingEmptySubsequences: false) {
            guard let next = value[name] else { return nil }
            value = next
        }
        return value
    }

    /// All values at a dotted path. A path through a list continues in each of its elements.
    static func values(at path: some StringProtocol, in json: JSONValue) -> [JSONValue] {
        var values = [json]
        for name in path.split(separator: ".", omittingEmptySubsequences: false) {
            values = values.flatMap { value in
                if case .array(let elements) = value, Int(name) == nil {
                    elements.compactMap { $0[name] }
                } else {
                    [value[name]].compactMap(\.self)
                }
            }
        }
        return values.flatMap { if case .array(let elements) = $0 { elements } else { [$0] } }
    }
}
