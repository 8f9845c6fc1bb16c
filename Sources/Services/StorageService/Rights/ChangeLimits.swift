import MartletAPI
import MartletCore
import MartletHTTP

/// What a change of an object may consist of: any change of some top-level fields, and operations with listed values on
/// others. `{"fields":["title"],"operations":{"participants":{"AddUnique":["$user.id"]}}}`
///
/// Neither a replacement of the object nor a change of its readers and writers is within limits.
struct ChangeLimits: Sendable, Equatable {
    private static let operationNames: Set<String> = ["Increment", "Add", "AddUnique", "Remove", "Delete"]
    private static let maximumOperations = 50
    private static let maximumValues = 100

    private struct Operation: Sendable, Equatable {
        let field: FieldName
        let name: String
        let values: [JSONValue]
    }

    private let fields: [FieldName]
    private let operations: [Operation]

    /// Nil if there are none.
    ///
    /// - Throws: `invalid-body` naming the member.
    init?(fields: [String]?, operations: JSONValue?) throws {
        guard fields != nil || operations != nil else { return nil }
        for field in fields ?? [] { try Self.check(field, in: "fields") }
        self.fields = (fields ?? []).map { FieldName($0) }
        self.operations = try operations.map(Self.parsed) ?? []
        guard self.operations.count <= Self.maximumOperations else {
            throw ServiceError(
                .limitExceeded, "At most \(Self.maximumOperations) operations may be listed.", field: "operations")
        }
    }

    private static func check(_ field: String, in member: String) throws {
        guard let path = try? FieldPath(field), path.parts.count == 1, SystemField(rawValue: field) == nil else {
            throw ServiceError.unexpectedMember(member, expected: "the names of top-level fields", found: field)
        }
    }

    private static func parsed(_ value: JSONValue) throws -> [Operation] {
        guard case .object(let members) = value else {
            throw ServiceError(
                .invalidBody, "Expected an object of fields and their operations, found \(value.phrase).",
                field: "operations")
        }
        return try members.flatMap { member -> [Operation] in
            try check(member.name, in: "operations")
            guard case .object(let allowed) = member.value else {
                throw refusal(member.name)
            }
            return try allowed.map { operation in
                guard operationNames.contains(operation.name), case .array(let values) = operation.value,
                    values.count <= maximumValues
                else { throw refusal("\(member.name).\(operation.name.prefix(40))") }
                return Operation(field: FieldName(member.name), name: operation.name, values: values)
            }
        }
    }

    private static func refusal(_ field: String) -> ServiceError {
        ServiceError(
            .invalidBody,
            """
            Expected operations, each with a list of at most \(maximumValues) values: \
            \(operationNames.sorted().joined(separator: ", ")).
            """, field: "operations.\(field)")
    }

    /// The members of an entry that `init` reads.
    var json: JSONValue {
        var members: [JSONValue.Member] = []
        if !fields.isEmpty { members.append(.init("fields", .array(fields.map { .string($0.text) }))) }
        if !operations.isEmpty {
            let names = operations.reduce(into: [FieldName]()) { if !$0.contains($1.field) { $0.append($1.field) } }
            let listed = names.map { name in
                JSONValue.Member(
                    name.text,
                    .object(operations.filter { $0.field == name }.map { .init($0.name, .array($0.values)) }))
            }
            members.append(.init("operations", .object(listed)))
        }
        // Limits that allow nothing must not be mistaken for no limits.
        return .object(members.isEmpty ? [.init("fields", .array([]))] : members)
    }

    /// - Throws: `invalid-filter` for an unknown variable.
    func check(_ context: ConditionContext) throws {
        for operation in operations {
            for value in operation.values {
                _ = try context.resolved(value, field: "operations.\(operation.field.text)")
            }
        }
    }

    /// The part of the change that exceeds these limits for the caller: a field, or the object's lists. Nil if all of
    /// it is within them.
    ///
    /// - Parameter kept: Fields that the change does not reach, because the server keeps them.
    func excess(of change: Document, ignoring kept: Set<FieldName>, _ context: ConditionContext) -> String? {
        guard !change.touched.setsLists else { return "_readers or _writers" }
        return change.touched.written.subtracting(kept).sorted().first { name in
            !fields.contains(name) && !admits(change.touched.operations, on: name, context)
        }?.text
    }

    private func admits(_ operations: Operations?, on name: FieldName, _ context: ConditionContext) -> Bool {
        guard case .object(let members)? = operations?.normalized else { return false }
        let concerned = members.filter { FieldName(topOf: $0.name) == name }
        return !concerned.isEmpty
            && concerned.allSatisfy { FieldName($0.name) == name && admits($0.value, on: name, context) }
    }

    private func admits(_ operation: JSONValue, on name: FieldName, _ context: ConditionContext) -> Bool {
        guard case .string(let kind)? = operation["__op"] else { return false }
        let allowed = operations.filter { $0.field == name && $0.name == kind }
        guard !allowed.isEmpty else { return false }
        let values: [JSONValue]
        switch (operation["objects"], operation["amount"]) {
        case (.array(let objects)?, nil): values = objects
        case (nil, let amount?): values = [amount]
        default: values = []
        }
        let listed = allowed.flatMap(\.values).compactMap { value in
            (try? context.resolved(value, field: name.text)).flatMap {
                try? TypedValue.normalized($0, field: name.text)
            }
        }
        return values.allSatisfy(listed.contains)
    }
}
