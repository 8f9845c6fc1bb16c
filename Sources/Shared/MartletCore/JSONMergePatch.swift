extension JSONValue {
    /// This value with `patch` applied: members that the patch has as null go, others are set, objects are merged (JSON Merge Patch, RFC 7396 §2).
    ///
    /// Members keep their order, new ones come last. The depth of both is limited by how they were parsed.
    public func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [Member] = if case .object(let members) = self { members } else { [] }
        var places = Dictionary(members.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { $1 })
        var gone = Set<String>()
        for change in changes {
            if case .null = change.value {
                gone.insert(change.name)
            } else if let place = places[change.name] {
                gone.remove(change.name)
                members[place] = Member(change.name, members[place].value.merging(change.value))
            } else {
                places[change.name] = members.count
                members.append(Member(change.name, JSONValue.object([]).merging(change.value)))
            }
        }
        return .object(members.filter { !gone.contains($0.name) })
    }
}
