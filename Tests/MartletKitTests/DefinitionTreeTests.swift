import Foundation
import Testing

@testable import MartletKit
@testable import MartletScreens

@Suite("Views of a definition")
struct DefinitionTreeTests {
    /// An app with one screen that shows this view.
    static func document(_ view: JSON, views: [String: JSON] = [:], models: JSON = [:]) -> JSON {
        [
            "name": "Test", "root_controller": "Main", "models": models,
            "views": .object(views.merging(["MainView": view]) { $1 }),
            "controllers": [
                "Main": ["kind": "NavController", "title": "Start", "render": "MainView", "text_color": "#ff0000"],
                "Detail": ["title": "@.title", "render": "DetailView"],
            ],
        ]
    }

    /// The first screen, with this model.
    private static func screen(
        _ view: JSON, views: [String: JSON] = [:], models: JSON = [:], model: JSON? = nil,
        _ components: DefinitionComponents = DefinitionComponents()
    ) async throws -> DefinitionScreen {
        let definition = try await DefinitionFixture.definition(
            document(view, views: views, models: models), components)
        return try await definition.open(model: model)
    }

    @Test(
        arguments: [
            ("plain", "plain"), ("@", ""), ("@.title", "Chess"), ("@.place.name", "Enschede"), ("@.tags.1", "b"),
            ("@.missing", ""), ("@title", ""), ("@.n", "1.50"),
            (["translation": "hello"], "translated hello"),
            (["logic": ["cat": [["var": "title"], "!"]]], "Chess!"),
            (["logic": ["format_date": [["var": "start"], "EEE HH:mm"]]], "Mon 09:30"),
            (["logic": ["format_number": [1234.5, 2]]], "1,234.50"),
            (["logic": ["shout": ["var": "title"]]], "CHESS"),
            // Text from the model is shown as it is, even if it looks like an expression.
            ("@.injected", "@.title"),
            // An expression that cannot be computed gives an empty text.
            (["logic": ["nobody": 1]], ""), (["logic": ["+": [["var": "title"], 1]]], ""),
        ] as [(JSON, String)])
    func `a label shows a value, a binding, a translation or logic`(value: JSON, shown: String) async throws {
        var components = DefinitionComponents()
        components.addOperation("shout") { .string(($0.first?.stringValue ?? "").uppercased()) }
        let model: JSON = [
            "title": "Chess", "place": ["name": "Enschede"], "tags": ["a", "b"], "start": "2026-08-24T09:30:00Z",
            "injected": "@.title", "n": .number(try #require(JSONNumber(text: "1.50"))),
        ]
        let screen = try await Self.screen(["kind": "LabelView", "text": value], model: model, components)
        #expect(screen.root.text("text") == shown)
    }

    @Test func `arguments are looked up among the parents, with the bindings of the parent that has them`() async throws
    {
        let screen = try await Self.screen(
            [
                "text_size": 20, "caption": "@.title", "top": 5,
                "contents": [
                    [
                        "kind": "ListView", "items_model": "@.rows", "row_view": "Row", "text_size": "@.size",
                        "contents": [],
                    ]
                ],
            ], views: ["Row": ["kind": "LabelView", "text": "@.name"]],
            model: ["title": "List", "size": 9, "rows": [["name": "a", "title": "no"], ["name": "b"]]])
        let rows = screen.root.contents[0].contents
        #expect(rows.map { $0.text("text") } == ["a", "b"])
        #expect(rows[0].number("text_size") == 9)
        #expect(screen.root.number("text_size") == 20)
        #expect(rows[0].text("caption") == "List")
        // The colour comes from the controller, the name from the app.
        #expect(rows[0].color("text_color")?.hexadecimal == "#ff0000")
        #expect(rows[0].text("name") == "Test")
        #expect(rows[0].own("top") == nil && rows[0].own("text_size") == nil)
    }

    @Test func `an unknown kind becomes its fallback, nothing, or an empty box of the same size`() async throws {
        var components = DefinitionComponents()
        components.addView("Known", version: 2)
        let screen = try await Self.screen(
            [
                "contents": [
                    ["kind": "Chart", "height": 50, "text": "secret", "contents": [["kind": "LabelView"]]],
                    ["kind": "Chart", "fallback": ["kind": "LabelView", "text": "instead"]],
                    ["kind": "Chart", "fallback": "Other"], ["kind": "Chart", "fallback": "drop"],
                    ["kind": "Known"], ["kind": "Known", "requires": ["Known": 3], "fallback": "drop"],
                    "Missing", 5, ["kind": "View", "hidden": true], ["kind": "View", "hidden": ["logic": ["!": 0]]],
                ]
            ], views: ["Other": ["kind": "ButtonView"]], components)
        let kinds = screen.root.contents.map(\.kind)
        #expect(kinds == ["Placeholder", "LabelView", "ButtonView", "Known", "Placeholder", "Placeholder"])
        #expect(screen.root.contents[0].own("height") == 50)
        #expect(screen.root.contents[0].own("text") == nil && screen.root.contents[0].contents.isEmpty)
    }

    @Test func `views that contain themselves are cut off`() async throws {
        let screen = try await Self.screen("Loop", views: ["Loop": ["contents": ["Loop", "Loop"]]])
        #expect(screen.nodes.count <= DefinitionTree.maximumNodes)
        #expect(screen.nodes.contains { $0.kind == DefinitionNode.placeholderKind })
        // A view whose fallback is itself.
        let views: [String: JSON] = ["A": ["kind": "No", "fallback": "A"]]
        #expect(try await Self.screen("A", views: views).root.kind == DefinitionNode.placeholderKind)
    }

    @Test func `a long list is cut off`() async throws {
        let rows = JSON.array((0..<2_000).map { ["n": .number(JSONNumber($0))] })
        let screen = try await Self.screen(
            ["kind": "ListView", "items_model": "Rows", "row_view": "Row"],
            views: ["Row": ["kind": "LabelView", "text": "@.n"]], models: ["Rows": rows])
        #expect(screen.root.contents.count == DefinitionTree.maximumRows)
        #expect(screen.root.contents.last?.text("text") == "499")
    }

    @Test func `models are loaded from their addresses, and addresses in data reach only storage`() async throws {
        let document: JSON = [
            "name": "Test", "root_controller": "Main",
            "models": [
                "Events": "/storage/events?limit=2", "Bad": "/storage/../auth/me", "Web": "https://example.org/a",
            ],
            "views": [
                "MainView": [
                    "contents": [
                        ["kind": "ListView", "items_model": "Events", "row_view": "Row"],
                        ["kind": "ListView", "items_model": "Bad", "row_view": "Row"],
                        ["kind": "ListView", "items_model": "Web", "row_view": "Row"],
                    ]
                ],
                "Row": ["kind": "LabelView", "text": "@.title"],
            ],
            "controllers": ["Main": ["render": "MainView"]],
        ]
        let requests = Locked<[HTTPRequest]>([])
        let definition = try await DefinitionFixture.definition(document) { request in
            requests.withLock { $0.append(request) }
            return HTTPResponse(200, ["data": [["title": .string(request.url.host ?? "")]]])
        }
        let screen = try await definition.open()
        let texts = screen.root.contents.map { $0.contents.map { $0.text("text") } }
        #expect(texts == [["martlet.test"], [], ["example.org"]])
        #expect(screen.failures.mapValues(\.code) == ["Bad": .invalidArgument])
        // Only the app's own server gets the secret.
        for request in requests.withLock({ $0 }) {
            #expect((request.headers["x-martlet-secret"] != nil) == (request.url.host == "martlet.test"))
        }
        func model(_ value: JSON) async throws -> JSON? {
            let scope = DefinitionScope(
                .view, kind: "View", [:], in: screen.root.scope, values: screen.root.scope.values, model: ["url": value]
            )
            let json: JSON = ["action": "openController", "controller_model": "@.url"]
            return try await definition.model(of: try #require(DefinitionAction(json, from: scope)))
        }
        #expect(try await model("/storage/events/1")?["data"] != nil)
        await #expect(throws: MartletError.self) { try await model("/auth/me") }
        await #expect(throws: MartletError.self) { try await model("/storage/%2e%2e/auth/me") }
        #expect(try await model("https://data.example/x")?["data"] != nil)
        let count = requests.withLock { $0.count }
        for address in [
            "http:///x", "http://data.example/x", "https://192.168.0.1/x", "https://[::1]/x", "https://localhost/x",
            "https://a.localhost/x", "https://2130706433/x", "https://0x7f.1/x", "https://127.0x1/x",
            "https://127.0.0.1./x", "https://intranet/x", "https://１２７.0.0.1/x", "https://%31%32%37.0.0.1/x",
            "https://data.example@10.0.0.1/x",
        ] {
            await #expect("\(address)") { try await model(.string(address)) } throws: {
                ($0 as? MartletError)?.code == .invalidArgument
            }
        }
        #expect(requests.withLock { $0.count } == count)
        #expect(try await model("just text") == "just text")
        // The transport stops where a model is too large.
        let models = requests.withLock { $0 }.map(\.maximumAnswerSize)
        #expect(Set(models) == [DefinitionModels.maximumSize])
    }

    @Test(arguments: [true, false])
    func `a model of a user who has signed out meanwhile is neither returned nor kept`(isConnected: Bool) async throws {
        let keeper = Locked<SessionKeeper?>(nil)
        let leaves = Locked(false)
        let transport = ScriptedTransport { _, _ in
            guard leaves.withLock({ $0 }) else { return HTTPResponse(200, ["data": ["first"]]) }
            try await keeper.withLock { $0 }?.end(.signedOut)
            guard isConnected else { throw MartletError(.connectionLost, "") }
            return HTTPResponse(200, ["data": ["second"]])
        }
        let martlet = try Martlet.scripted(transport, change: { $0.retries = .never })
        keeper.withLock { $0 = martlet.session }
        try await martlet.session.begin(SessionTests.session(1))
        let folder = LocalFolder(url: Scratch.folder())
        let models = DefinitionModels(api: martlet.api, folder: folder)
        #expect(try await models.load("/storage/a") == ["data": ["first"]])
        leaves.withLock { $0 = true }
        await #expect(throws: MartletError.self) { try await models.load("/storage/a") }
        if isConnected { #expect(folder.names.isEmpty) }
    }

    @Test func `the oldest models make room for new ones`() async throws {
        let isOnline = Locked(true)
        let transport = ScriptedTransport { _, _ in
            guard isOnline.withLock({ $0 }) else { throw MartletError(.notConnected, "") }
            return HTTPResponse(200, .string(String(repeating: "x", count: 998)))
        }
        let martlet = try Martlet.scripted(transport, change: { $0.retries = .never })
        let folder = LocalFolder(url: Scratch.folder())
        var models = DefinitionModels(api: martlet.api, folder: folder)
        models.maximumTotalSize = 3_000
        let addresses = (0..<5).map { "/storage/a\($0)" }
        for (number, address) in addresses.enumerated() {
            _ = try await models.load(address)
            // An older time than that of the next file.
            let path = try #require(folder.files.max { $0.modified < $1.modified }).name
            let time = Date(timeIntervalSince1970: Double(number))
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: folder.path(of: path))
        }
        isOnline.withLock { $0 = false }
        for address in addresses.prefix(2) {
            await #expect(throws: MartletError.self) { try await models.load(address) }
        }
        for address in addresses.dropFirst(2) { _ = try await models.load(address) }
    }

    @Test func `a kept model is only for its user`() async throws {
        let isOnline = Locked(true)
        let transport = ScriptedTransport { _, _ in
            guard isOnline.withLock({ $0 }) else { throw MartletError(.notConnected, "") }
            return HTTPResponse(200, ["data": [1]])
        }
        let (martlet, folder) = (
            try Martlet.scripted(transport, change: { $0.retries = .never }), LocalFolder(url: Scratch.folder())
        )
        let models = DefinitionModels(api: martlet.api, folder: folder.subfolder("live-test"))
        #expect(try await models.load("/storage/a") == ["data": [1]])
        isOnline.withLock { $0 = false }
        UserModels.forget(allBut: nil, in: folder)
        #expect(try await models.load("/storage/a") == ["data": [1]])
        await #expect(throws: MartletError.self) { try await models.load("/storage/b") }
        UserModels.forget(allBut: "ann", in: folder)
        await #expect(throws: MartletError.self) { try await models.load("/storage/a") }
    }

    @Test func `HTML shows texts as they are, and leaves out what is not valid`() async throws {
        let evil = "</div><script>alert('1')</script>\""
        let screen = try await Self.screen(
            [
                "name": .string(evil), "background_color": "red;} body{", "width": 1e300, "top": "fill",
                "contents": [
                    [
                        "kind": "LabelView", "text": "@.evil", "text_font": "x';color:red", "text_color": "#00ff0080",
                        "text_size": 20, "text_lines": 2, "left": 8.5,
                    ],
                    ["kind": "ButtonView", "title": "@.evil", "actions": [["action": .string(evil)]]],
                    ["kind": "ImageView", "url": "javascript:alert(1)"],
                    ["kind": "ImageView", "url": "//evil.example"],
                    ["kind": "ImageView", "url": "/../../mk_other/files/b.png"],
                    ["kind": "ImageView", "url": "/files/a.png?x=1&y=2"], ["kind": "ImageView", "url": "@.evil"],
                    [
                        "kind": "TextField", "field": "@.evil", "title": "@.evil", "placeholder": "@.evil",
                        "value": "@.evil",
                    ],
                    ["kind": "Picker", "field": "p", "options": ["@.evil"]],
                    ["kind": "MapView", "title": "@.evil", "latitude": 52.2, "longitude": 6.9],
                    ["kind": "MapView", "latitude": 520, "longitude": 6.9],
                ],
            ], model: ["evil": .string(evil)])
        let renderer = HTMLDefinitionRenderer(base: URL(string: "https://a.example/api/mk"))
        let page = renderer.page(screen, language: evil)
        #expect(!page.contains("<script") && !page.contains("alert('1')"))
        #expect(page.components(separatedBy: "&lt;script&gt;").count >= 9)
        #expect(!page.contains("javascript:") && !page.contains("evil.example") && !page.contains("color:red"))
        #expect(page.components(separatedBy: "<img").count == 2)
        #expect(page.contains("src=\"https://a.example/api/mk/files/a.png?x=1&amp;y=2\""))
        #expect(page.contains("color:#00ff0080;font-size:20px;display:-webkit-box;"))
        #expect(page.contains("margin-left:8.5px;"))
        #expect(page.contains("52.20000, 6.90000") && !page.contains("520"))
        #expect(page.contains("default-src 'none'"))
    }

    @Test func `another renderer can show the same views`() async throws {
        struct Outline: DefinitionRenderer {
            func output(for node: DefinitionNode, contents: [String]) -> String {
                node.kind + "(" + contents.joined(separator: ",") + ")"
            }
        }
        let screen = try await Self.screen(["contents": [["kind": "LabelView"], ["contents": [["kind": "Toggle"]]]]])
        #expect(Outline().render(screen.root) == "View(LabelView(),View(Toggle()))")
    }

    @Test(
        arguments: [
            [:], ["app.json": 5], ["root_controller": "Nobody"], ["root_controller": 5], ["controllers": ["Main": 5]],
        ] as [JSON])
    func `a definition without a first screen is refused`(change: JSON) async throws {
        var document: JSON = change == [:] ? [:] : Self.document([:])
        for (name, value) in change.objectValue ?? [:] { document[name] = value }
        if change["app.json"] != nil { document["root_controller"] = nil }
        await #expect { try await DefinitionFixture.definition(document) } throws: {
            ($0 as? MartletError)?.code == .definitionRefused
        }
    }
}
