/// Resource limits of a program, enforced by the kernel through `prlimit`.
public struct ProcessLimits: Sendable {
    public var cpuTimeInSeconds = 10
    /// Limit of all mapped memory, including files.
    public var addressSpaceInBytes = 1 << 30
    /// Limit of allocated memory; nil allows as much as the address space.
    public var dataInBytes: Int?
    /// Maximum size of each file that is written.
    public var outputSizeInBytes = 16 << 20

    public init() {}

    /// The command line that precedes the program's path.
    var command: [String] {
        [
            "/usr/bin/prlimit", "--cpu=\(cpuTimeInSeconds):\(cpuTimeInSeconds + 1)", "--as=\(addressSpaceInBytes)",
            "--fsize=\(outputSizeInBytes)", "--nofile=64", "--core=0",
        ] + (dataInBytes.map { ["--data=\($0)"] } ?? []) + ["--"]
    }
}
