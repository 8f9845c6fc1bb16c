/// Which copy of an app's data a request works on: the published app's, or the one for tests.
///
/// Selected by the app key (a key belongs to one environment) or by the header `X-Martlet-Environment`.
public enum AppEnvironment: String, Codable, Sendable, Hashable, CaseIterable {
    case live
    case test
}
