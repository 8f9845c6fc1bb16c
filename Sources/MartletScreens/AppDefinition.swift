import Foundation
public import MartletKit
import MartletLogic

/// One version of an app definition. It never changes; ``DefinitionLoader`` loads newer versions.
///
/// ```swift
/// let screen = try await definition.open()                             // the first screen
/// for outcome in try await definition.perform(screen.root.actions) { … }
/// ```
public final class AppDefinition: Sendable {
    public let name: String
    /// The version number, which only increases.
    public let version: Int
    /// The version whose content this is: an earlier one after a rollback, or for part of the users.
    public let content: Int
    /// The name that the definition gives to the app.
    public let title: String
    let parts: DefinitionParts
    let models: DefinitionModels
    let components: DefinitionComponents
    let app: DefinitionScope
    private let addresses: [String: JSON]
    private let rootController: String

    /// - Throws: `MartletError` with `definitionRefused` if there is no first screen.
    init(
        _ parts: DefinitionParts, models: DefinitionModels, _ components: DefinitionComponents,
        _ values: DefinitionValues
    ) async throws {
        guard let root = try await parts.load("app.json"), let members = root.objectValue,
            let controller = members["root_controller"]?.stringValue,
            try await parts.load("controllers/" + controller)?.objectValue != nil
        else { throw MartletError(.definitionRefused, "The definition has no root controller.") }
        (name, version, content) = (parts.manifest.name, parts.manifest.version, parts.manifest.content)
        title = members["name"]?.stringValue ?? name
        addresses = members["models"]?.objectValue ?? [:]
        rootController = controller
        let structure: Set = ["models", "views", "controllers", "root_controller"]
        app = DefinitionScope(
            .app, kind: "SystemController", members.filter { !structure.contains($0.key) }, in: nil, values: values)
        self.parts = parts
        self.models = models
        self.components = components
        _ = try await needs(of: controller)
    }

    /// A controller with its view. Its models are loaded from the server, or from the device if there is no connection.
    /// Parts of the definition that the device lacks are downloaded.
    ///
    /// - Parameters:
    ///   - controller: Its name; nil: the root controller. One that does not exist shows a placeholder.
    ///   - model: The value of `@` in its views.
    public func open(_ controller: String? = nil, model: JSON? = nil) async throws -> DefinitionScreen {
        try await open(controller ?? rootController, model: model, from: app)
    }

    func open(_ name: String, model: JSON?, from parent: DefinitionScope) async throws -> DefinitionScreen {
        guard parent.screens < DefinitionScope.maximumScreens else {
            throw MartletError(.invalidArgument, "More than \(DefinitionScope.maximumScreens) screens are open.")
        }
        let members = try await parts.load("controllers/" + name)?.objectValue ?? [:]
        let needs = try await needs(of: name)
        var loaded: [String: JSON] = [:]
        var failures: [String: MartletError] = [:]
        for model in needs.models.sorted() {
            do {
                loaded[model] = try await load(model)
            } catch let error as MartletError {
                failures[model] = error
            }
        }
        let kind = members["kind"]?.stringValue ?? "ViewController"
        let scope = DefinitionScope(
            .controller, kind: components.controllers.contains(kind) ? kind : "ViewController", members, in: parent,
            values: parent.values, model: model, loaded: loaded)
        var tree = DefinitionTree(components: components) { [parts] in parts.kept("views/" + $0) }
        return DefinitionScreen(
            controller: name, kind: scope.kind, title: scope.own("title")?.shownText ?? "",
            root: tree.root(members["render"] ?? .null, in: scope), failures: failures)
    }

    /// A model of the app by its name: data of the definition, or the response of its address. Nil if there is none.
    private func load(_ name: String) async throws -> JSON? {
        guard let address = addresses[name]?.stringValue else { return nil }
        if DefinitionModels.isAddress(address) { return try await models.load(address) }
        return try await parts.load("models/" + name)
    }

    /// The model that an action gives to a controller: a value, the name of a model, or its address.
    func model(of action: DefinitionAction) async throws -> JSON? {
        guard let value = action.own("controller_model"), let text = value.stringValue else {
            return action.own("controller_model")
        }
        if addresses[text] != nil { return try await load(text) }
        guard DefinitionModels.isAddress(text) else { return value }
        return try await models.load(text, isFromData: action.members["controller_model"] != value)
    }

    /// The address of a model, for submitting.
    func address(ofModel name: String) -> String? { addresses[name]?.stringValue }
}

/// The parts that a controller's screen needs.
struct DefinitionNeeds {
    var models: Set<String> = []
    fileprivate var views: [String] = []

    /// Adds what a view and the views inside it name.
    fileprivate mutating func add(_ view: JSON?) {
        switch view {
        case .string(let name)? where !name.hasPrefix("@") && name != "drop": views.append(name)
        case .object(let members)?:
            for content in members["contents"]?.arrayValue ?? [] { add(content) }
            add(members["fallback"])
            if let row = members["row_view"]?.stringValue { add(.string(row)) }
            if let model = members["items_model"]?.stringValue, !model.hasPrefix("@") { models.insert(model) }
        default: break
        }
    }
}

extension AppDefinition {
    /// Loads the parts that a controller's screen needs, including those of the controllers that it lists. A controller
    /// that only an action opens is loaded when the action opens it.
    private func needs(of controller: String) async throws -> DefinitionNeeds {
        var needs = DefinitionNeeds()
        var controllers = [controller]
        var seen: Set<String> = []
        while let name = controllers.popLast() {
            guard seen.insert("controllers/" + name).inserted else { continue }
            guard let members = try await parts.load("controllers/" + name)?.objectValue else { continue }
            func names(_ list: String) -> [String] {
                (members[list]?.arrayValue ?? []).compactMap(\.stringValue)
            }
            needs.add(members["render"])
            names("views").forEach { needs.add(.string($0)) }
            needs.models.formUnion(names("models"))
            controllers += names("controllers")
            while let view = needs.views.popLast() {
                guard seen.insert("views/" + view).inserted else { continue }
                needs.add(try await parts.load("views/" + view))
            }
        }
        return needs
    }
}
