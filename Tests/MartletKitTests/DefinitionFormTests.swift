import Foundation
import Testing

@testable import MartletKit
@testable import MartletScreens

@Suite("Forms of a definition")
struct DefinitionFormTests {
    /// A form with one field, which has these members.
    private static func form(_ field: JSON) async throws -> (DefinitionForm, DefinitionScreen) {
        var field = field
        field["field"] = "x"
        let definition = try await DefinitionFixture.definition([
            "name": "Test", "root_controller": "Main", "views": ["V": ["kind": "Form", "contents": [field]]],
            "controllers": ["Main": ["render": "V"]],
        ])
        let screen = try await definition.open()
        return (try #require(screen.root.form), screen)
    }

    @Test(
        arguments: [
            // Field, value, whether it is accepted
            (["kind": "TextField"], nil, true), (["kind": "TextField", "required": true], nil, false),
            (["kind": "TextField", "required": true], "", false), (["kind": "TextField", "required": true], "a", true),
            (["kind": "TextField", "max_length": 3], "abcd", false),
            (["kind": "TextField", "min_length": 3], "ab", false),
            (["kind": "TextField", "min_length": 3], "", true), (["kind": "TextField"], "@", true),
            (["kind": "TextField", "keyboard": "number"], "12,5", true),
            (["kind": "TextField", "keyboard": "number"], "1e999", false),
            (["kind": "TextField", "keyboard": "number"], "twelve", false),
            (["kind": "TextField", "keyboard": "email"], "ann@example.org", true),
            (["kind": "TextField", "keyboard": "email"], "ann@example", false),
            (["kind": "TextField", "validation": ["logic": ["==": [["var": "x"], "yes"]]]], "yes", true),
            (["kind": "TextField", "validation": ["logic": ["==": [["var": "x"], "yes"]]]], "no", false),
            (["kind": "TextField", "validation": ["logic": ["nobody": 1]]], "no", false),
            (["kind": "Toggle"], nil, true), (["kind": "Toggle", "required": true], false, false),
            (["kind": "Toggle", "required": true], true, true), (["kind": "Toggle"], "yes", false),
            (["kind": "Picker", "options": ["a", ["value": 2, "title": "b"]]], "a", true),
            (["kind": "Picker", "options": ["a", ["value": 2, "title": "b"]]], 2, true),
            (["kind": "Picker", "options": ["a", ["value": 2, "title": "b"]]], "b", false),
            (["kind": "DatePicker"], "2026-08-24", true), (["kind": "DatePicker"], "2026-02-30", false),
            (["kind": "DatePicker"], "2026-08-24T10:00:00Z", false),
            (["kind": "DatePicker", "mode": "time"], "09:30", true),
            (["kind": "DatePicker", "mode": "date_time"], "2026-08-24T10:00:00Z", true),
            (["kind": "DatePicker", "minimum": "2026-08-20"], "2026-08-19", false),
            (["kind": "DatePicker", "maximum": "2026-08-20"], "2026-08-21", false),
        ] as [(JSON, JSON?, Bool)])
    func `a value is accepted if it fits the field`(field: JSON, value: JSON?, isAccepted: Bool) async throws {
        let (form, screen) = try await Self.form(field)
        if let value { form["x"] = value }
        #expect(form.validate() == isAccepted, "\(form.problems)")
        let html = HTMLDefinitionRenderer().page(screen)
        #expect(html.contains("role=\"alert\"") == !isAccepted)
    }

    @Test func `a form is released with its screen, and a password with it`() async throws {
        final class Observed { weak var form: DefinitionForm? }
        let observed = Observed()
        func open() async throws {
            let (form, screen) = try await Self.form(["kind": "TextField", "secure": true])
            form["x"] = "secret"
            observed.form = screen.root.form
            #expect(observed.form?.validate() == true)
        }
        try await open()
        #expect(observed.form == nil)
    }

    @Test(arguments: [nil, 2] as [JSON?])
    func `a password is not in the page`(lines: JSON?) async throws {
        var field: JSON = ["kind": "TextField", "secure": true, "value": "geheim"]
        field["text_lines"] = lines
        let (form, screen) = try await Self.form(field)
        #expect(form.values == ["x": "geheim"])
        let html = HTMLDefinitionRenderer().page(screen)
        #expect(html.contains("type=\"password\"") && !html.contains("geheim"))
    }

    @Test func `a field has a first value, and its own message`() async throws {
        let (form, screen) = try await Self.form(
            ["kind": "TextField", "value": "a\"b", "max_length": 2, "message": ["translation": "short"]])
        #expect(form.values == ["x": "a\"b"])
        #expect(HTMLDefinitionRenderer().page(screen).contains("value=\"a&quot;b\""))
        #expect(!form.validate())
        #expect(form.problems == ["x": "translated short"])
        form["x"] = "a"
        #expect(form.problems.isEmpty)
        form["other"] = "b"
        form["x"] = .null
        #expect(form.values.isEmpty)
    }

    @Test func `a complete form is sent once, and then its own actions run`() async throws {
        let sent = Locked<[JSON]>([])
        let definition = try await DefinitionFixture.definition([
            "name": "Test", "root_controller": "Main",
            "models": ["SignUps": "/storage/signups", "Web": "https://x.example"],
            "views": [
                "V": [
                    "kind": "Form", "submit_model": "SignUps",
                    "actions": [["action": "showAlert", "message": "Thanks"], ["action": "submit"]],
                    "contents": [
                        ["kind": "TextField", "field": "age", "keyboard": "number", "required": true],
                        ["kind": "TextField", "field": "note"], ["kind": "Toggle", "field": "news"],
                        ["kind": "View", "contents": [["kind": "ButtonView", "actions": [["action": "submit"]]]]],
                    ],
                ]
            ],
            "controllers": ["Main": ["render": "V"]],
        ]) { request in
            #expect(request.method == "POST" && request.url.path.hasSuffix("/storage/signups"))
            sent.withLock { $0.append((try? JSON(parsing: request.body ?? Data())) ?? .null) }
            return HTTPResponse(201, ["objectId": "1"])
        }
        let screen = try await definition.open()
        let button = try #require(screen.nodes.first { $0.kind == "ButtonView" })
        guard case .invalid(let problems)? = try await definition.perform(button.actions).first else {
            Issue.record("An empty form was accepted.")
            return
        }
        #expect(problems.keys.sorted() == ["age"])
        #expect(sent.withLock { $0 }.isEmpty)
        button.form?["age"] = "20"
        let outcomes = try await definition.perform(button.actions)
        #expect(sent.withLock { $0 } == [["age": 20, "news": false]])
        guard outcomes.count == 3, case .submitted(let object) = outcomes[0], case .alert("", "Thanks") = outcomes[1],
            case .unhandled = outcomes[2], object["age"] == 20
        else {
            Issue.record("\(outcomes)")
            return
        }
    }
}
