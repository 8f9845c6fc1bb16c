/// Tells whoever follows a space's change log that it has grown. Never waited for: the log itself is the truth.
final class ChangeSignal: Sendable {
    func written(in space: AppSpace) {}
}
