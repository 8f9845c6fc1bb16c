import MartletKit

/// Builds the concrete views of a screen from the definition's views and the models.
///
/// Views and levels are limited, so building a screen ends for every definition. Views that cannot be shown become
/// placeholders.
struct DefinitionTree {
    static let maximumDepth = 32
    static let maximumNodes = 10_000
    static let maximumRows = 500

    let components: DefinitionComponents
    /// A view of the app by its name.
    let view: (String) -> JSON?
    private var count = 0

    init(components: DefinitionComponents, view: @escaping (String) -> JSON?) {
        self.components = components
        self.view = view
    }

    /// A screen's outermost view.
    mutating func root(_ view: JSON, in controller: DefinitionScope) -> DefinitionNode {
        node(view, in: controller, isInRow: false, depth: 1) ?? placeholder(in: controller, isInRow: false)
    }

    /// Nil if nothing is to be shown.
    ///
    /// - Parameters:
    ///   - model: For a row, an element of the list.
    ///   - actions: For a row, those of the list.
    private mutating func node(
        _ json: JSON, in parent: DefinitionScope, model: JSON? = nil, actions: JSON? = nil, isInRow: Bool, depth: Int
    ) -> DefinitionNode? {
        count += 1
        guard count <= Self.maximumNodes else { return nil }
        guard depth <= Self.maximumDepth else { return placeholder(in: parent, isInRow: isInRow) }
        if case .string(let name) = json {
            guard let named = view(name), named.objectValue != nil else {
                return placeholder(in: parent, isInRow: isInRow)
            }
            return node(named, in: parent, model: model, actions: actions, isInRow: isInRow, depth: depth)
        }
        guard let members = json.objectValue else { return placeholder(in: parent, isInRow: isInRow) }
        let kind = members["kind"]?.stringValue ?? "View"
        guard isSupported(kind, members["requires"]) else {
            switch members["fallback"] {
            case .string("drop"): return nil
            case let fallback?:
                return node(fallback, in: parent, model: model, actions: actions, isInRow: isInRow, depth: depth + 1)
            case nil: return placeholder(members, in: parent, isInRow: isInRow)
            }
        }
        let form = kind == "Form" ? DefinitionForm() : nil
        let scope = DefinitionScope(
            .view, kind: kind, members, in: parent, values: parent.values, model: model, form: form)
        if scope.own("hidden")?.boolValue == true { return nil }
        let own = kind == "ListView" || kind == "Form" ? [] : DefinitionAction.list(members["actions"], from: scope)
        let node = DefinitionNode(
            kind: kind, contents: contents(members, of: scope, depth: depth),
            actions: own + DefinitionAction.list(actions, from: scope), isInRow: isInRow, scope: scope)
        scope.form?.add(node)
        return node
    }

    private func isSupported(_ kind: String, _ requires: JSON?) -> Bool {
        guard components.views.contains(kind) else { return false }
        let needs = (requires?.objectValue ?? [:]).mapValues { $0.intValue ?? Int.max }
        return components.supports(needs)
    }

    private mutating func contents(
        _ members: [String: JSON], of scope: DefinitionScope, depth: Int
    ) -> [DefinitionNode] {
        let isRow = scope.own("orientation")?.stringValue == "horizontal"
        var nodes: [DefinitionNode] = []
        for content in members["contents"]?.arrayValue ?? [] where count < Self.maximumNodes {
            if let node = node(content, in: scope, isInRow: isRow, depth: depth + 1) { nodes.append(node) }
        }
        guard scope.kind == "ListView", let row = scope.own("row_view") else { return nodes }
        for item in Self.items(of: scope).prefix(Self.maximumRows) where count < Self.maximumNodes {
            let made = node(
                row, in: scope, model: item, actions: members["actions"], isInRow: isRow, depth: depth + 1)
            if let made { nodes.append(made) }
        }
        return nodes
    }

    /// The elements of a list: of a model by its name, or of the list that a binding names. The server's collections
    /// answer `{"data": […]}`.
    private static func items(of list: DefinitionScope) -> [JSON] {
        var model = list.own("items_model") ?? .null
        if let name = model.stringValue { model = list.named(name) ?? .null }
        return model.arrayValue ?? model["data"]?.arrayValue ?? []
    }

    /// An empty box of the same size.
    private func placeholder(
        _ members: [String: JSON] = [:], in parent: DefinitionScope, isInRow: Bool
    ) -> DefinitionNode {
        let kept: Set = ["name", "kind", "top", "left", "right", "bottom", "width", "height"]
        let scope = DefinitionScope(
            .view, kind: DefinitionNode.placeholderKind, members.filter { kept.contains($0.key) }, in: parent,
            values: parent.values)
        return DefinitionNode(
            kind: DefinitionNode.placeholderKind, contents: [], actions: [], isInRow: isInRow, scope: scope)
    }
}
