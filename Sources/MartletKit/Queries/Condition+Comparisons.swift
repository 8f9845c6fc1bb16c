/// Comparisons of key paths and fields with values are conditions.
extension Condition {
    fileprivate static func comparison<Member, Operand: Encodable>(
        _ path: KeyPath<Value, Member>, _ operation: String, _ value: Operand
    ) -> Condition {
        Condition(path) { [operation: try JSON(encoding: value)] }
    }

    fileprivate static func comparison<Operand: Encodable>(
        _ field: Field<Operand>, _ operation: String, _ value: Operand
    ) -> Condition {
        // The server compares its own time fields with plain text, not with an object that has `iso`.
        Condition(.success(field.name)) {
            let json = try JSON(encoding: value)
            let isServers = ["created", "updated", "deleted"].contains(field.name)
            return [operation: isServers ? json["iso"] ?? json : json]
        }
    }
}

public func == <Root: Storable, Member: Equatable & Encodable>(
    path: KeyPath<Root, Member>, value: Member
) -> Condition<Root> {
    .comparison(path, "$eq", value)
}

public func == <Root: Storable, Member: Equatable & Encodable & Sendable>(
    field: Field<Member>, value: Member
) -> Condition<Root> {
    .comparison(field, "$eq", value)
}

public func != <Root: Storable, Member: Equatable & Encodable>(
    path: KeyPath<Root, Member>, value: Member
) -> Condition<Root> {
    .comparison(path, "$ne", value)
}

public func != <Root: Storable, Member: Equatable & Encodable & Sendable>(
    field: Field<Member>, value: Member
) -> Condition<Root> {
    .comparison(field, "$ne", value)
}

public func < <Root: Storable, Member: Comparable & Encodable>(
    path: KeyPath<Root, Member>, value: Member
) -> Condition<Root> {
    .comparison(path, "$lt", value)
}

public func < <Root: Storable, Member: Comparable & Encodable>(
    path: KeyPath<Root, Member?>, value: Member
) -> Condition<Root> {
    .comparison(path, "$lt", value)
}

public func < <Root: Storable, Member: Comparable & Encodable & Sendable>(
    field: Field<Member>, value: Member
) -> Condition<Root> {
    .comparison(field, "$lt", value)
}

public func <= <Root: Storable, Member: Comparable & Encodable>(
    path: KeyPath<Root, Member>, value: Member
) -> Condition<Root> {
    .comparison(path, "$lte", value)
}

public func <= <Root: Storable, Member: Comparable & Encodable>(
    path: KeyPath<Root, Member?>, value: Member
) -> Condition<Root> {
    .comparison(path, "$lte", value)
}

public func <= <Root: Storable, Member: Comparable & Encodable & Sendable>(
    field: Field<Member>, value: Member
) -> Condition<Root> {
    .comparison(field, "$lte", value)
}

public func > <Root: Storable, Member: Comparable & Encodable>(
    path: KeyPath<Root, Member>, value: Member
) -> Condition<Root> {
    .comparison(path, "$gt", value)
}

public func > <Root: Storable, Member: Comparable & Encodable>(
    path: KeyPath<Root, Member?>, value: Member
) -> Condition<Root> {
    .comparison(path, "$gt", value)
}

public func > <Root: Storable, Member: Comparable & Encodable & Sendable>(
    field: Field<Member>, value: Member
) -> Condition<Root> {
    .comparison(field, "$gt", value)
}

public func >= <Root: Storable, Member: Comparable & Encodable>(
    path: KeyPath<Root, Member>, value: Member
) -> Condition<Root> {
    .comparison(path, "$gte", value)
}

public func >= <Root: Storable, Member: Comparable & Encodable>(
    path: KeyPath<Root, Member?>, value: Member
) -> Condition<Root> {
    .comparison(path, "$gte", value)
}

public func >= <Root: Storable, Member: Comparable & Encodable & Sendable>(
    field: Field<Member>, value: Member
) -> Condition<Root> {
    .comparison(field, "$gte", value)
}
