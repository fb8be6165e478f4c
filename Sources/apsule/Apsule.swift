import HostCore

@main
struct Apsule {
    static func main() {}
}
