import MartletAPI
import MartletCore
import NIOCore

/// A user's document in `_User`, made of the public profile.
struct UserDocument: Sendable {
    /// With the name as `userName`.
    let json: JSONValue
    /// Field → type.
    let fields: [FieldName: String]

    /// Members that no object can have are left out: names that are reserved or that no filter could reference,
    /// operations, and malformed typed values.
    init(profile: String, userName: String?) {
        var members: [JSONValue.Member] = []
        var fields: [FieldName: String] = [:]
        let name = userName.map { [JSONValue.Member("userName", .string($0))] } ?? []
        for member in name + Self.members(profile).filter({ $0.name != "userName" }) {
            let text = ByteBuffer(string: JSONValue.object([member]).text)
            guard fields[FieldName(member.name)] == nil, let document = try? Document(text),
                !document.hasSystemFields,
                let value = try? TypedValue.normalized(member.value, field: member.name)
            else { continue }
            members.append(.init(member.name, value))
            fields.merge(document.fields) { $1 }
        }
        json = .object(members)
        self.fields = fields
    }

    private static func members(_ profile: String) -> [JSONValue.Member] {
        guard case .object(let members)? = try? JSONValue(parsing: profile.utf8) else { return [] }
        return members
    }
}
