import Foundation
import MartletCore
import MartletSchema
import Testing

/// The public JSON-Schema-Test-Suite, draft 2020-12, outside the repository: in `MARTLET_VECTORS`, or
/// `../shared/vectors`. Without it, these tests are skipped.
@Suite("JSON-Schema-Test-Suite", .enabled(if: Vectors.exist, "MARTLET_VECTORS is not set"))
struct VectorTests {
    @Test("Values are judged as the suite says", arguments: Vectors.groups)
    func judged(_ group: Vectors.Group) throws {
        let schema = try JSONSchema(parsing: group.schema.text.utf8)
        for test in group.tests {
            let violations = schema.violations(of: test.data)
            #expect(violations.isEmpty == test.isValid, "\(test.name): \(violations)")
        }
    }

    @Test("Groups that are left out are refused as schemas, so nothing goes unchecked", arguments: Vectors.refused)
    func refused(_ group: Vectors.Group) {
        #expect(throws: SchemaError.self) { try JSONSchema(parsing: group.schema.text.utf8) }
    }

    @Test("The suite has the expected number of groups, and every one that is left out exists")
    func complete() {
        #expect(Vectors.groups.count + Vectors.refused.count == Vectors.all.count)
        #expect(Vectors.refused.count == Vectors.leftOut.count)
        #expect(Vectors.all.count > 150)
    }
}

enum Vectors {
    struct Group: Sendable, CustomTestStringConvertible {
        var file: String
        var name: String
        var schema: JSONValue
        var tests: [Case]

        var id: String { "\(file): \(name)" }
        var testDescription: String { id }
    }

    struct Case: Sendable {
        var name: String
        var data: JSONValue
        var isValid: Bool
    }

    /// Groups that use what we refuse, each with its reason.
    static let leftOut = [
        "additionalProperties: additionalProperties being false does not allow other properties": "patternProperties",
        "additionalProperties: non-ASCII pattern with additionalProperties": "patternProperties",
        "additionalProperties: dependentSchemas with additionalProperties": "dependentSchemas",
        "contains: contains with false if subschema": "if",
        "default: invalid type for default": "a default must fit its own schema, because it is stored",
        "default: invalid string value for default": "a default must fit its own schema, because it is stored",
        "default: the default keyword does not do anything if the property is missing":
            "a default must fit its own schema, because it is stored",
        "enum: empty enum": "an enum without values is a mistake",
        "not: collect annotations inside a 'not', even if collection is disabled": "unevaluatedProperties",
        "pattern: pattern with Unicode property escape requires unicode mode": "\\p in patterns",
        "properties: properties, patternProperties, additionalProperties interaction": "patternProperties",
    ]

    static let all = (try? load()) ?? []
    static let groups = all.filter { leftOut[$0.id] == nil }
    static let refused = all.filter { leftOut[$0.id] != nil }
    static let exist = !all.isEmpty

    private static func load() throws -> [Group] {
        let vectors = ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors"
        let folder = URL(fileURLWithPath: vectors).appendingPathComponent("json-schema")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.flatMap { file in
            let name = file.deletingPathExtension().lastPathComponent
            // PostgreSQL cannot store U+0000, so our parser refuses it. Another control character serves as well.
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self).replacing("\\u0000", with: "\\u0001")
            return try JSONValue(parsing: text.utf8).elements.map { group in
                Group(
                    file: name, name: group.text("description"), schema: group["schema"] ?? .null,
                    tests: (group["tests"]?.elements ?? []).map {
                        Case(
                            name: $0.text("description"), data: $0["data"] ?? .null, isValid: $0["valid"] == .bool(true)
                        )
                    })
            }
        }
    }
}

extension JSONValue {
    fileprivate var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }
    fileprivate func text(_ name: String) -> String {
        if case .string(let text) = self[name] { text } else { "" }
    }
}
