/// A change of one field, carried out by the database: concurrent changes do not overwrite each other.
///
/// ```swift
/// try await martlet.storage.update(event, .increment(\.visits), .insert(["anna"], into: \.participants))
/// ```
public struct Change<Value: Storable>: Sendable {
    /// The field's name with its new value, or an operation of the server.
    let member: Result<(name: String, value: JSON), MartletError>

    private init<Member>(_ path: KeyPath<Value, Member>, _ value: () throws -> JSON) {
        self.init(FieldName.of(path), value)
    }

    private init(_ name: Result<String, MartletError>, _ value: () throws -> JSON) {
        member = name.with(value)
    }

    private static func operation(_ name: JSON, _ amount: JSON) -> JSON { ["__op": name, "amount": amount] }

    private static func list<Element: Encodable>(_ operation: JSON, _ elements: [Element]) throws -> JSON {
        ["__op": operation, "objects": try JSON(encoding: elements)]
    }

    /// Sets the field, to null if the value is nil.
    public static func set<Member: Encodable>(_ path: KeyPath<Value, Member>, to value: Member) -> Change {
        Change(path) { try JSON(encoding: value) }
    }

    /// Sets a field that has no key path.
    public static func set<Member: Encodable>(_ field: Field<Member>, to value: Member) -> Change {
        Change(.success(field.name)) { try JSON(encoding: value) }
    }

    /// Sets the field if the call creates the object.
    public static func setOnInsert<Member: Encodable>(_ path: KeyPath<Value, Member>, to value: Member) -> Change {
        Change(path) { operation("SetOnInsert", try JSON(encoding: value)) }
    }

    /// Removes the field.
    public static func unset<Member>(_ path: KeyPath<Value, Member>) -> Change {
        Change(path) { ["__op": "Delete"] }
    }

    /// Removes a field that has no key path.
    public static func unset<Member>(_ field: Field<Member>) -> Change {
        Change(.success(field.name)) { ["__op": "Delete"] }
    }

    /// Adds to the number; a missing one counts as 0.
    public static func increment<Number: Encodable & Numeric>(
        _ path: KeyPath<Value, Number>, by amount: Number = 1
    ) -> Change {
        Change(path) { operation("Increment", try JSON(encoding: amount)) }
    }

    /// Adds to the number; a missing one counts as 0.
    public static func increment<Number: Encodable & Numeric>(
        _ path: KeyPath<Value, Number?>, by amount: Number = 1
    ) -> Change {
        Change(path) { operation("Increment", try JSON(encoding: amount)) }
    }

    /// Adds elements at the end of the list.
    public static func append<List: ListField>(_ elements: [List.ListElement], to path: KeyPath<Value, List>) -> Change
    {
        Change(path) { try list("Add", elements) }
    }

    /// Adds those of the elements that the list does not have.
    public static func insert<List: ListField>(
        _ elements: [List.ListElement], into path: KeyPath<Value, List>
    ) -> Change {
        Change(path) { try list("AddUnique", elements) }
    }

    /// Removes each occurrence of the elements from the list.
    public static func remove<List: ListField>(
        _ elements: [List.ListElement], from path: KeyPath<Value, List>
    ) -> Change {
        Change(path) { try list("Remove", elements) }
    }

    /// Adds objects to the relation.
    public static func link<Target: Storable>(
        _ targets: [Pointer<Target>], to path: KeyPath<Value, Relation<Target>?>
    ) -> Change {
        Change(path) { try list("AddRelation", targets) }
    }

    /// Removes objects from the relation.
    public static func unlink<Target: Storable>(
        _ targets: [Pointer<Target>], from path: KeyPath<Value, Relation<Target>?>
    ) -> Change {
        Change(path) { try list("RemoveRelation", targets) }
    }

    /// Sets who may see the object; nil: everyone whom the collection's rules allow.
    public static func readers(_ readers: [Grantee]?) -> Change {
        Change(.success("_readers")) { Grantee.json(readers) }
    }

    /// Sets who may change the object; nil: everyone whom the collection's rules allow.
    public static func writers(_ writers: [Grantee]?) -> Change {
        Change(.success("_writers")) { Grantee.json(writers) }
    }

    /// The body of a PATCH.
    static func body(_ changes: [Change]) throws -> JSON {
        var members: [String: JSON] = [:]
        for change in changes {
            let (name, value) = try change.member.get()
            guard members.updateValue(value, forKey: name) == nil else {
                throw MartletError(.invalidArgument, "A call can change each field only once.", field: name)
            }
        }
        return .object(members)
    }
}
