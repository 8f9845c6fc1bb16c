import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import NIOCore

/// A validated record of a file, ready for the stage.
struct ImportRecord: Sendable {
    var line: Int
    var id: String
    /// Whether the file specifies the id.
    var hasOwnID: Bool
    /// RFC 3339; empty for the current time.
    var created = ""
    var updated = ""
    var version = 1
    /// JSON; empty for everyone.
    var readers = ""
    var writers = ""
    /// The text including system fields.
    var document: [UInt8]
    /// Top-level field → type.
    var fields: [FieldName: String]

    /// - Throws: `RecordFault`.
    init(line: Int, text: [UInt8], idField: String?) throws(RecordFault) {
        let text = try Self.renamed(text, idField)
        let document: Document
        do {
            document = try Document(ByteBuffer(bytes: text))
        } catch let problem as ServiceError {
            throw RecordFault(reason: problem.detail ?? problem.code.title, field: problem.field)
        } catch {
            throw RecordFault(reason: "The record cannot be read.")
        }
        self.line = line
        id = (document.id ?? ObjectID.make()).text
        hasOwnID = document.id != nil
        self.document = document.json.bytes
        fields = document.fields
        if case .names(let names) = document.readers { readers = JSONValue.array(names.map(JSONValue.string)).text }
        if case .names(let names) = document.writers { writers = JSONValue.array(names.map(JSONValue.string)).text }
        if document.hasSystemFields { try takeSystemFields() }
    }

    /// Adds the schema's defaults.
    ///
    /// - Throws: `RecordFault` if the record does not fit the schema.
    mutating func complete(by schema: CollectionSchema?) throws(RecordFault) {
        guard let schema else { return }
        do {
            document = try schema.completed(record: document)
        } catch {
            let problem = error as? ServiceError
            throw RecordFault(
                reason: problem?.detail ?? "The record does not fit the collection's schema.", field: problem?.field)
        }
    }

    private mutating func takeSystemFields() throws(RecordFault) {
        guard case .object(let members) = try? JSONValue(parsing: document) else { return }
        for member in members {
            switch (SystemField(rawValue: member.name), member.value) {
            case (.created?, let value): created = try Self.time(value, member.name)
            case (.updated?, let value): updated = try Self.time(value, member.name)
            case (.deleted?, .null): break
            case (.deleted?, _): throw RecordFault(reason: "The object is removed.", field: member.name)
            case (.version?, .number(let literal)): version = max(1, Int(literal) ?? 1)
            default: break
            }
        }
    }

    private static func time(_ value: JSONValue, _ field: String) throws(RecordFault) -> String {
        switch value {
        case .null: return ""
        case .string(let text):
            guard let date = Timestamps.date(text), date.timeIntervalSince1970.magnitude < 1e11 else {
                throw RecordFault(reason: "Expected a time as in RFC 3339, found other text.", field: field)
            }
            return Timestamps.text(date)
        default: throw RecordFault(reason: "Expected a time as in RFC 3339, found \(value.phrase).", field: field)
        }
    }

    /// The text with the id field renamed to `_id` and its value converted to a string.
    private static func renamed(_ text: [UInt8], _ idField: String?) throws(RecordFault) -> [UInt8] {
        guard let idField, idField != SystemField.id.rawValue else { return text }
        guard case .object(let members) = try? JSONValue(parsing: text) else { return text }
        let renamed = members.filter { $0.name != SystemField.id.rawValue }.map { member -> JSONValue.Member in
            guard member.name == idField else { return member }
            if case .number(let literal) = member.value { return .init(SystemField.id.rawValue, .string(literal)) }
            return .init(SystemField.id.rawValue, member.value)
        }
        guard renamed.contains(where: { $0.name == SystemField.id.rawValue }) else {
            throw RecordFault(reason: "The record has no id.", field: idField)
        }
        return Array(JSONValue.object(renamed).text.utf8)
    }
}
