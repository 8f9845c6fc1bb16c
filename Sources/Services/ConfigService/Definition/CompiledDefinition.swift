import Foundation
import MartletCore
import NIOCore

/// A part of a definition that is downloaded separately.
struct DefinitionPart: Sendable {
    /// For example `app.json` or `views/EventDetailView`.
    let path: String
    /// Its digest is the address of the part.
    let stored: StoredContent

    init(_ path: String, _ value: JSONValue) {
        self.path = path
        stored = StoredContent(Array(value.text.utf8))
    }

    var sha256: String { stored.sha256 }
    var content: ByteBuffer { stored.bytes }
    var gzip: ByteBuffer? { stored.gzip }
}

/// A definition prepared for serving.
struct CompiledDefinition: Sendable {
    /// A component that a view with a fallback requires. Clients that lack it show the fallback.
    struct OptionalRequirement: Sendable, Equatable {
        let kind: String
        let version: Int
        /// The view's path in the document (RFC 6901).
        let path: String
    }

    let parts: [DefinitionPart]
    let minClient: VersionNumber?
    let requires: [String: Int]
    let options: [OptionalRequirement]
    let rollout: AppDefinition.Rollout?
    private let indexByDigest: [String: Int]

    init(_ app: AppDefinition) {
        let inlineModels = app.models.filter { if case .string = $0.value { false } else { true } }
        parts =
            [DefinitionPart("app.json", Self.root(app))]
            + inlineModels.map { DefinitionPart("models/" + $0.name, $0.value) }
            + app.views.map { DefinitionPart("views/" + $0.name, Self.ordered($0.value)) }
            + app.controllers.map { DefinitionPart("controllers/" + $0.name, $0.value) }
        indexByDigest = Dictionary(parts.enumerated().map { ($1.sha256, $0) }, uniquingKeysWith: { first, _ in first })
        minClient = app.minClient
        requires = app.requires
        rollout = app.rollout
        var options: [OptionalRequirement] = []
        for view in app.views { Self.collect(&options, view.value, app, at: "/views/" + JSONPointer.escape(view.name)) }
        self.options = options
    }

    func part(_ sha256: String) -> DefinitionPart? { indexByDigest[sha256].map { parts[$0] } }

    /// `app.json` with the paths of the parts in place of the parts. Members that only the server uses or that the
    /// manifest repeats are left out.
    private static func root(_ app: AppDefinition) -> JSONValue {
        .object(
            app.members.compactMap { member in
                switch (member.name, member.value) {
                case ("rollout", _), ("requires", _), ("minClient", _): nil
                case ("models", .object(let parts)), ("views", .object(let parts)), ("controllers", .object(let parts)):
                    JSONValue.Member(
                        member.name,
                        .object(
                            parts.map { part in
                                if case .string = part.value {
                                    part
                                } else {
                                    .init(part.name, .string("\(member.name)/\(part.name)"))
                                }
                            }))
                default: member
                }
            })
    }

    /// The view in the form that clients expect, with its contents as a list.
    static func ordered(_ view: JSONValue) -> JSONValue {
        switch view {
        case .object(let members):
            .object(
                members.map { member in
                    switch (member.name, member.value) {
                    case ("contents", .object(let contents)): .init("contents", .array(list(contents).map(ordered)))
                    case ("contents", .array(let contents)): .init("contents", .array(contents.map(ordered)))
                    case ("fallback", _): .init("fallback", ordered(member.value))
                    default: member
                    }
                })
        default: view
        }
    }

    /// The named views as a list, each with its name. They keep the order of the document, except that a view with
    /// `before` is moved in front of the view it names.
    private static func list(_ contents: [JSONValue.Member]) -> [JSONValue] {
        var names: [String] = []
        for content in contents {
            if case .string(let other)? = content.value["before"], let place = names.firstIndex(of: other) {
                names.insert(content.name, at: place)
            } else {
                names.append(content.name)
            }
        }
        let values = Dictionary(contents.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        return names.compactMap { name in
            guard case .object(let members)? = values[name] else { return values[name] }
            return .object([.init("name", .string(name))] + members.filter { $0.name != "name" && $0.name != "before" })
        }
    }

    private static func collect(
        _ options: inout [OptionalRequirement], _ view: JSONValue, _ app: AppDefinition, at path: String
    ) {
        guard case .object(let members) = view else { return }
        if view["fallback"] != nil {
            var needs = view["requires"].flatMap(DefinitionCheck.requirements) ?? [:]
            if case .string(let kind)? = view["kind"], !Component.views.contains(kind), app.requires[kind] == nil {
                needs[kind] = needs[kind] ?? 1
            }
            options += needs.sorted { $0.key < $1.key }.map {
                OptionalRequirement(kind: $0.key, version: $0.value, path: path)
            }
        }
        for member in members {
            let path = path + "/" + JSONPointer.escape(member.name)
            switch (member.name, member.value) {
            case ("contents", .array(let views)):
                for (index, view) in views.enumerated() { collect(&options, view, app, at: "\(path)/\(index)") }
            case ("contents", .object(let views)):
                for view in views { collect(&options, view.value, app, at: path + "/" + JSONPointer.escape(view.name)) }
            case ("fallback", _): collect(&options, member.value, app, at: path)
            default: break
            }
        }
    }
}
