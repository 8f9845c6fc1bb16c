/// The copy of an app's data that a request works on: that of the published app, or a separate one for tests.
///
/// Selected by the app key (a key belongs to one environment) or by the header `X-Martlet-Environment`.
public enum AppEnvironment: String, Codable, Sendable, Hashable, CaseIterable {
    case live
    case test
}
