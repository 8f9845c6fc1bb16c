import MartletAPI
import MartletCore
import MartletPostgres
import MartletSchema

extension Document {
    /// The document for a new object, with the schema's defaults in nested objects. The defaults of the document's own
    /// fields are added in SQL, by `CollectionSchema.completed`.
    ///
    /// - Parameters:
    ///   - presets: The fields that the server will set.
    ///   - isWhole: Whether this is all of the new object, so that it can be checked now.
    /// - Throws: `document-refused`.
    func completed(
        by schema: CollectionSchema?, presets: Document?, isWhole: Bool, for access: Access
    ) throws -> Document {
        guard let schema else { return self }
        let value = try checked { () throws(JSONError) in try JSONValue(parsing: json.bytes) }
        let (filled, defaults) = schema.filled(value)
        if isWhole { try schema.check(.object(filled + defaults).setting(presets), for: access) }
        var completed = self
        completed.json = PostgresJSON(JSONValue.object(filled).text)
        for member in defaults { completed.fields[FieldName(member.name)] = FieldType.name(of: member.value) }
        return completed
    }
}

extension Documents {
    /// Completes each document as `Document.completed` does.
    ///
    /// - Throws: `document-refused` with `field` beginning with the number of the object; `payload-too-large`.
    func completed(
        by schema: CollectionSchema?, presets: Document?, isWhole: Bool, for access: Access
    ) throws -> Documents {
        guard let schema else { return self }
        var completed = self
        var text: [UInt8] = [UInt8(ascii: "[")]
        var number = 0
        /// The size of the defaults that are added in SQL.
        var addedSize = 0
        try Documents.forEach(of: json.bytes) { _, range in
            let value = try checked { () throws(JSONError) in try JSONValue(parsing: json.bytes[range]) }
            let (filled, defaults) = schema.filled(value)
            do {
                if isWhole { try schema.check(.object(filled + defaults).setting(presets), for: access) }
            } catch let problem as ServiceError {
                throw problem.within("\(number)")
            }
            if number > 0 { text.append(UInt8(ascii: ",")) }
            text += JSONValue.object(filled).text.utf8
            addedSize += JSONValue.object(defaults).text.utf8.count
            guard text.count + addedSize <= 2 * Document.maximumBatchSizeInBytes else {
                throw ServiceError(.payloadTooLarge, "With the schema's defaults, the objects are too large.")
            }
            for member in defaults {
                if let type = FieldType.name(of: member.value) {
                    completed.fields[FieldName(member.name), default: []].insert(type)
                }
            }
            number += 1
        }
        text.append(UInt8(ascii: "]"))
        completed.json = PostgresJSON(text)
        return completed
    }
}

extension JSONValue {
    /// The object, in which the members of `values` replace those of the same names.
    fileprivate func setting(_ values: Document?) throws -> JSONValue {
        guard let values, case .object(let members) = self,
            case .object(let others) = try checked({ () throws(JSONError) in
                try JSONValue(parsing: values.json.bytes)
            })
        else { return self }
        let names = Set(others.map { FieldName($0.name) })
        return .object(members.filter { !names.contains(FieldName($0.name)) } + others)
    }
}

extension CollectionSchema {
    /// The members of a document with the defaults in nested objects, and the defaults of the document's own fields.
    fileprivate func filled(_ document: JSONValue) -> (members: [JSONValue.Member], defaults: [JSONValue.Member]) {
        guard case .object(let members) = schema.filledInside(document) else { return ([], []) }
        return (members, schema.defaults(for: document))
    }

    /// A record of an import with all defaults, as bytes.
    ///
    /// - Throws: `document-refused`.
    func completed(record: [UInt8]) throws -> [UInt8] {
        let (filled, defaults) = filled(try JSONValue(parsing: record))
        let document = JSONValue.object(filled + defaults)
        try check(document, for: .master)
        return Array(document.text.utf8)
    }
}
