import Foundation
import Testing

@testable import MartletKit
@testable import MartletScreens

@Suite("Actions of a definition")
struct DefinitionActionTests {
    @Test func `an action goes to the first object that can handle it`() async throws {
        let called = Locked<[String]>([])
        var components = DefinitionComponents()
        components.addView("Deck")
        components.addAction("shuffle", answeredBy: "Deck") { action in
            called.withLock { $0.append("deck " + (action.argument("cards")?.shownText ?? "")) }
        }
        components.addAction("call") { action in
            called.withLock { $0.append("call " + (action.argument("number")?.shownText ?? "")) }
        }
        let definition = try await DefinitionFixture.definition(
            DefinitionTreeTests.document(
                [
                    "kind": "Deck", "cards": 52,
                    "contents": [
                        [
                            "kind": "ButtonView",
                            "actions": [
                                ["action": "shuffle"], ["action": "call", "number": "@.phone"], [:],
                                ["action": "showAlert", "message": "Hi"], ["action": "fly"],
                                ["action": "openController", "controller": "Detail", "controller_model": "@.event"],
                                ["action": "openController", "kind": "SystemController", "controller": "Detail"],
                                ["action": "openController", "controller": "Nobody"],
                            ],
                        ]
                    ],
                ], views: ["DetailView": ["kind": "LabelView", "text": "@.title"]]), components)
        let screen = try await definition.open(model: ["phone": "112", "event": ["title": "Chess"]])
        let outcomes = try await definition.perform(screen.root.contents[0].actions)
        #expect(called.withLock { $0 } == ["deck 52", "call 112"])
        #expect(outcomes.count == 7)
        guard case .alert("Start", "Hi") = outcomes[2], case .unhandled(let fly) = outcomes[3],
            case .open(let detail, isModal: false) = outcomes[4], case .unhandled = outcomes[5],
            case .open(let nobody, _) = outcomes[6]
        else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(fly.name == "fly")
        #expect(detail.title == "Chess" && detail.root.text("text") == "Chess")
        #expect(nobody.root.kind == DefinitionNode.placeholderKind)
        // A screen opened from a controller that is not a NavController is on top.
        let next = try await definition.open("Detail", model: nil, from: detail.root.scope)
        #expect(next.kind == "ViewController" && next.root.text("text") == "Chess")
    }

    @Test func `the number of screens on top of each other is limited`() async throws {
        let definition = try await DefinitionFixture.definition(
            DefinitionTreeTests.document([
                "kind": "ButtonView", "actions": [["action": "openController", "controller": "Main"]],
            ]))
        var screen = try await definition.open()
        await #expect(throws: MartletError.self) {
            for _ in 0..<100 {
                guard case .open(let next, _)? = try await definition.perform(screen.root.actions).first else { return }
                screen = next
            }
        }
        #expect(screen.root.scope.screens == DefinitionScope.maximumScreens)
    }

    @Test func `a kind of controller of the app handles its own actions, also those of screens it has opened`()
        async throws
    {
        let called = Locked(0)
        var components = DefinitionComponents()
        components.addController("TabController")
        components.addAction("selectTab", answeredBy: "TabController") { _ in called.withLock { $0 += 1 } }
        var document = DefinitionTreeTests.document(
            ["kind": "ButtonView", "actions": [["action": "openController", "controller": "Detail"]]],
            views: ["DetailView": ["kind": "ButtonView", "actions": [["action": "selectTab"]]]])
        document["controllers"] = [
            "Main": ["kind": "TabController", "render": "MainView"], "Detail": ["kind": "No", "render": "DetailView"],
        ]
        let definition = try await DefinitionFixture.definition(document, components)
        let first = try await definition.open()
        #expect(first.kind == "TabController")
        guard case .open(let detail, isModal: true)? = try await definition.perform(first.root.actions).first else {
            Issue.record("Nothing was opened.")
            return
        }
        // An unknown kind of controller shows its view as the built-in one does.
        #expect(detail.kind == "ViewController" && detail.root.kind == "ButtonView")
        guard case .done? = try await definition.perform(detail.root.actions).first else {
            Issue.record("Nothing answered.")
            return
        }
        #expect(called.withLock { $0 } == 1)
    }
}
