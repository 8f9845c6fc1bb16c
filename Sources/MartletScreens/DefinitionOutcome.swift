public import MartletKit

/// What the app shows after the user has tapped on something.
public enum DefinitionOutcome: Sendable {
    /// A screen: the next page of a `NavController`, or on top of all others.
    case open(DefinitionScreen, isModal: Bool)
    case alert(title: String, message: String)
    /// A form was complete. If it has a `submit_model`, the server has created the object.
    case submitted(JSON)
    /// A form was not complete: what is wrong, by field. Show the form again.
    case invalid([String: String])
    /// The app's own action has run.
    case done
    /// No object from the sender up to the app handles the action.
    case unhandled(DefinitionAction)
}

extension AppDefinition {
    /// Carries out what a view does when the user taps on it. Each action goes up from the view to the app, until an
    /// object handles it.
    ///
    /// - Throws: `MartletError` if something cannot be loaded or the server refuses a form, and what the app's own
    ///   actions throw.
    public func perform(_ actions: [DefinitionAction]) async throws -> [DefinitionOutcome] {
        var outcomes: [DefinitionOutcome] = []
        for action in actions { outcomes += try await perform(action, from: action.scope) }
        return outcomes
    }

    private func perform(
        _ action: DefinitionAction, from start: DefinitionScope
    ) async throws -> [DefinitionOutcome] {
        let own = components.actions[action.name]
        for object in start.chain where action.kind == nil || action.kind == object.kind {
            if let own, object.role == .app ? own.kind == nil : own.kind == object.kind {
                try await own.handler(action)
                return [.done]
            }
            switch (action.name, object.role) {
            case ("submit", .view) where object.kind == "Form": return try await submit(object)
            case ("openController", .controller): return [try await open(action, by: object)]
            case ("showAlert", .app):
                return [
                    .alert(
                        title: action.argument("title")?.shownText ?? "",
                        message: action.own("message")?.shownText ?? "")
                ]
            default: break
            }
        }
        return [.unhandled(action)]
    }

    private func open(_ action: DefinitionAction, by controller: DefinitionScope) async throws -> DefinitionOutcome {
        let name = action.argument("controller")?.stringValue ?? ""
        let screen = try await open(name, model: try await model(of: action), from: controller)
        return .open(screen, isModal: controller.kind != "NavController")
    }

    /// Sends a form, then performs the form's own actions.
    private func submit(_ object: DefinitionScope) async throws -> [DefinitionOutcome] {
        guard let form = object.form else { return [] }
        guard form.validate() else { return [.invalid(form.problems)] }
        let values = form.object
        if let model = object.own("submit_model")?.stringValue {
            guard let address = address(ofModel: model), DefinitionModels.isAddress(address) else {
                throw MartletError(.invalidArgument, "The model \(model) has no address that a form can be sent to.")
            }
            try await models.submit(values, to: address)
        }
        var outcomes = [DefinitionOutcome.submitted(values)]
        // Starts above the form, which would otherwise send itself again.
        for action in DefinitionAction.list(object.members["actions"], from: object) {
            outcomes += try await perform(action, from: object.parent ?? app)
        }
        return outcomes
    }
}
