extension JSONValue {
    /// Applies a JSON Merge Patch (RFC 7396 §2): removes members that are null in the patch, sets others, and merges
    /// objects.
    ///
    /// Members keep their order, and new ones are appended. The depth of both values was limited by parsing.
    public func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [Member] = if case .object(let members) = self { members } else { [] }
        var places = Dictionary(members.enumerated().map { (ExactText($1.name), $0) }, uniquingKeysWith: { $1 })
        var removed = Set<ExactText>()
        for change in changes {
            let name = ExactText(change.name)
            if case .null = change.value {
                removed.insert(name)
            } else if let place = places[name] {
                removed.remove(name)
                members[place] = Member(change.name, members[place].value.merging(change.value))
            } else {
                places[name] = members.count
                members.append(Member(change.name, JSONValue.object([]).merging(change.value)))
            }
        }
        return .object(members.filter { !removed.contains(ExactText($0.name)) })
    }
}
