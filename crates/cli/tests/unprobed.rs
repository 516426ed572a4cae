//! What cannot be probed costs only itself.

mod common;

use common::{json, path, project, run};

/// `PICK` wants a constant, which nothing but its definition in a system header would tell.
const MAIN: &str = "
#include <stdlib.h>
#define pick3(c) __builtin_choose_expr(c, 1, 2)
#include \"pick.h\"
static int f(int a)
{
	int n = picked(sizeof(int) == 4 && sizeof(char) == 1);
	if (a < 0)
		return -1;
	return n;
}
int main(void)
{
	int n = 0;
	for (int i = 0; i < 3000; i++)
		n += f(i);
	return n != 3000;
}
";

const CONFIG: &str = "[project]\nname = \"p\"\nlanguage = \"c\"\n[build]\n\
    command = \"mkdir -p gen && echo '#define picked(c) pick3(c)' > gen/pick.h && \
    $CC $CFLAGS $LDFLAGS -Igen -o p main.c\"\n[test]\ncommand = \"./p\"\n\
    [[workload]]\nname = \"run\"\nclass = \"benchmark\"\ncommand = \"./p\"\n";

#[test]
fn one_condition_that_does_not_compile_leaves_the_others_counted() {
    let dir = project(&[("unlikely.toml", CONFIG), ("main.c", MAIN)]);
    let (code, _, err) = run(["record", path(&dir), "--collector", "gcov"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("main.c: conditions do not compile when probed"), "{err}");
    let (_, scan) = json(["scan", path(&dir), "--format", "json"]);
    let of = |text: &str| {
        let all = scan["candidates"].as_array().unwrap();
        all.iter().find(|c| c["condition"] == text).map(|c| c["executed"].as_u64().unwrap())
    };
    assert_eq!(of("a < 0"), Some(3000));
    assert_eq!(of("sizeof(int) == 4"), None);
}
