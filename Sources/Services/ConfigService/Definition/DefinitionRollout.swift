/// Decides by a flag who gets a definition's newest version.
protocol DefinitionRollout: Sendable {
    /// Nil: there is no such flag, which counts as off.
    func isOn(_ flag: String, for unit: RolloutUnit, in space: LiveSpace) -> Bool?
}

/// Who asks: a signed-in user, or a device by an id of its own making.
struct RolloutUnit: Sendable {
    let userID: String?
    let deviceID: String?
    /// The host app's version.
    let client: String?
}

/// No flag is known: everybody gets the other version.
struct NoRollout: DefinitionRollout {
    func isOn(_ flag: String, for unit: RolloutUnit, in space: LiveSpace) -> Bool? { nil }
}
