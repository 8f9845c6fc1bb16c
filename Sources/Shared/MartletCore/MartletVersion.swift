/// The version of this code, by semantic versioning. `deploy/package` reads it from this file.
public enum MartletVersion {
    public static let current = "0.9.0"
}
