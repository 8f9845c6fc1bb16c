import Foundation
import MartletKit

/// An object of a definition at its place: a view, a controller or the app itself, with all objects above it.
///
/// Arguments are looked up from here to the app, and actions go the same way. A scope has references only to those
/// above it.
final class DefinitionScope: Sendable {
    enum Role: Sendable { case app, controller, view }

    /// The maximum number of screens on top of each other, which no user reaches.
    static let maximumScreens = 64

    let role: Role
    let kind: String
    /// The object's members, as in the definition.
    let members: [String: JSON]
    let parent: DefinitionScope?
    /// The object's own model; nil: that of the object above.
    private let ownModel: JSON?
    private let ownForm: DefinitionForm?
    /// The models that a controller has loaded.
    private let loaded: [String: JSON]
    let values: DefinitionValues
    /// How many controllers there are from here to the app.
    let screens: Int

    init(
        _ role: Role, kind: String, _ members: [String: JSON], in parent: DefinitionScope?, values: DefinitionValues,
        model: JSON? = nil, form: DefinitionForm? = nil, loaded: [String: JSON] = [:]
    ) {
        self.role = role
        self.kind = kind
        self.members = members
        self.parent = parent
        self.values = values
        ownModel = model
        ownForm = form
        self.loaded = loaded
        screens = (parent?.screens ?? 0) + (role == .controller ? 1 : 0)
    }

    /// This object and those above it, nearest first.
    var chain: some Sequence<DefinitionScope> { sequence(first: self) { $0.parent } }

    var model: JSON { chain.lazy.compactMap(\.ownModel).first ?? .null }

    var form: DefinitionForm? { chain.lazy.compactMap(\.ownForm).first }

    var controller: DefinitionScope? { chain.first { $0.role == .controller } }

    /// The object's own value, with bindings resolved; nil if it has none.
    func own(_ name: String) -> JSON? { members[name].map { values.resolve($0, model: model) } }

    /// The value of the nearest object that has one. Its bindings refer to the model of that object.
    func argument(_ name: String) -> JSON? { chain.lazy.compactMap { $0.own(name) }.first }

    /// A model by its name.
    func named(_ name: String) -> JSON? { chain.lazy.compactMap { $0.loaded[name] }.first }
}
