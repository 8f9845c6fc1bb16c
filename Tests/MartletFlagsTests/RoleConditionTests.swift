import MartletCore
import MartletFlags
import Testing

@Suite("Conditions on roles")
struct RoleConditionTests {
    private static func condition(_ text: String) throws -> (condition: Condition, warnings: [String]) {
        var compiler = ConditionCompiler(named: [
            "staff": try JSONValue(parsing: #"{"user.roles":{"$in":["staff"]}}"#.utf8)
        ])
        return (compiler.compileWhen(try JSONValue(parsing: text.utf8)), compiler.issues.map(\.code))
    }

    @Test(
        "A compiled condition states whether it tests roles",
        arguments: [
            (#"{"user.roles":{"$in":["editors"]}}"#, true), (#"{"user.roles.0":"editors"}"#, true), (#""staff""#, true),
            (#"["staff"]"#, true),
            (#"{"$or":[{"country":"CH"},{"$not":{"user.roles":{"$size":0}}}]}"#, true),
            (#"{"user":{"$exists":true}}"#, true),
            (#"{"$percent":{"seed":"s","to":5,"by":"user"}}"#, true),
            (#"{"$and":[{"country":"CH"},{"$condition":"staff"}]}"#, true),
            (#"{"user.id":"ada"}"#, false), (#"{"userId":"ada"}"#, false), (#"{"roles":{"$in":["editors"]}}"#, false),
            ("{}", false),
            (#"{"my.user.roles":1}"#, false), (#"{"user.rolesX":1}"#, false),
        ])
    func testsRoles(_ text: String, _ expected: Bool) throws {
        #expect(try Self.condition(text).condition.testsRoles == expected)
    }

    @Test(
        "Unknown roles neither grant nor deny anything",
        arguments: [
            (#"{"user.roles":{"$in":["editors"]}}"#, true, false),
            (#"{"user.roles":{"$nin":["editors"]}}"#, false, true),
            (#"{"$not":{"user.roles":{"$in":["editors"]}}}"#, false, true),
            (#"{"$or":[{"country":"CH"},{"user.roles":{"$in":["editors"]}}]}"#, true, true),
        ])
    func unknown(_ text: String, _ hasRole: Bool, _ hasNone: Bool) throws {
        let condition = try Self.condition(text).condition
        var attributes: FlagAttributes = [
            "country": .string("CH"), "user": .object(["roles": .array([.string("authors"), .string("editors")])]),
        ]
        #expect(condition.matches(attributes) == hasRole)
        attributes["user"] = .object(["roles": .array([])])
        #expect(condition.matches(attributes) == hasNone)
        attributes.areRolesUnknown = true
        #expect(!condition.matches(attributes))
        #expect(try Self.condition(#"{"country":"CH"}"#).condition.matches(attributes))
    }

    @Test(
        "Comparing a list as one value is detected",
        arguments: [
            (#"{"user.roles":"editors"}"#, ["list-compared"]),
            (#"{"user.roles":{"$eq":"editors"}}"#, ["list-compared"]),
            (#"{"user.roles":["editors"]}"#, ["list-compared"]), (#"{"user.roles":{"$in":["editors"]}}"#, []),
            (#"{"user.roles":{"$size":0}}"#, []),
        ])
    func compared(_ text: String, _ warnings: [String]) throws {
        #expect(try Self.condition(text).warnings == warnings)
    }

    @Test(
        "A document needs roles if an enabled flag's rule does",
        arguments: [
            ("", "", true), (#","enabled":false"#, "", false), ("", #","enabled":false"#, false),
        ])
    func document(_ flag: String, _ rule: String, _ expected: Bool) throws {
        let text =
            #"{"flags":{"f":{"type":"boolean","default":false\#(flag),"rules":[{"when":{"user.roles":{"$in":["a"]}},"value":true\#(rule)}]},"g":{"type":"number","default":1}}}"#
        #expect(try FlagDocumentTests.compile(text).flags.testsRoles == expected)
        let split =
            #"{"flags":{"f":{"type":"number","default":1,"rules":[{"when":{"user.roles":{"$in":["a"]}},"split":[{"value":1,"percent":50},{"value":2,"percent":50}]}]}}}"#
        #expect(try FlagDocumentTests.compile(split).flags.testsRoles)
        #expect(try FlagDocumentTests.compile(FlagDocumentTests.document).flags.testsRoles == false)
    }
}
